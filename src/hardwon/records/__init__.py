"""What is kept: the five kinds of record, their envelope, and what their fields may hold. No input
or output.
"""
