"""Makes every artefact that Twig is installed from, out of one program."""
