"""A Scripts package of your own is found behind this one: all of its modules but `ai_memory` are still yours."""  # noqa: N999  # the name that scripts know

from pkgutil import extend_path

__path__ = extend_path(__path__, __name__)
