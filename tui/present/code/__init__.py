"""Write the code of functions as text, for the commands and the application."""
