"""Pages that are made from the code: a module each, with a function `page` that gives its text.

What is said of a name is the name's own: its docstring, its signature, its JSON Schema, its bounds.
A module adds only what concerns many of them. Nothing depends on the machine.
"""
