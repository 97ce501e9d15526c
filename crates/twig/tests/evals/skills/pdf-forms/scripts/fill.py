"""Writes values into the fields of a form."""
