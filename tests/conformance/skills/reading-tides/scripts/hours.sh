#!/bin/sh
# Six hours and a quarter, roughly, from one tide to the next.
echo "$(( $1 * 375 / 60 )) hours"
