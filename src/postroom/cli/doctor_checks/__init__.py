"""What `postroom doctor` looks at."""
