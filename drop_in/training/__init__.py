"""A training package of your own is found behind this one: all of its modules but `memory` are
still yours.
"""

from pkgutil import extend_path

__path__ = extend_path(__path__, __name__)
