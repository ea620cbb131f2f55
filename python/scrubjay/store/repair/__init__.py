"""What can be read of a damaged file, and the sound file that is made of it."""
