"""Python programs of several files, and the links that they have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., Any]


def test_imports_of_every_form_lead_to_the_definition(project: Make) -> None:
    program = project(
        {
            "pkg/__init__.py": "from .core import run as start\nfrom .tools import *\n",
            "pkg/core.py": "def run():\n    pass\n",
            "pkg/tools.py": "__all__ = ['saw']\n\ndef saw():\n    pass\n\ndef hidden():\n    pass\n",
            "pkg/sub/__init__.py": "",
            "pkg/sub/deep.py": """
                from .. import core as kernel
                from ..core import run
                from pkg import start, saw, hidden
                import pkg.core
                import pkg.tools as t

                def all():
                    run()
                    kernel.run()
                    start()
                    saw()
                    hidden()
                    pkg.core.run()
                    t.hidden()
                """,
        }
    )
    assert program.calls("pkg/sub/deep.py/all().") == {
        "pkg/core.py/run().",
        "pkg/tools.py/saw().",
        "pkg/tools.py/hidden().",
    }
    imported = program.links("imports", "pkg/sub/deep.py/")
    assert imported == {f"pkg/sub/deep.py/ -> {path}/" for path in ("pkg/core.py", "pkg/__init__.py", "pkg/tools.py")}
    lines = {(e[2], e[3]["line"]) for e in program.edges() if e[1] == "calls" and e[0].endswith("all().")}
    assert lines == {("pkg/core.py/run().", 8), ("pkg/tools.py/saw().", 11), ("pkg/tools.py/hidden().", 14)}


def test_imports_and_bases_in_a_circle_come_to_an_end(project: Make) -> None:
    program = project(
        {
            "a.py": "from b import *\nfrom b import g\nclass A(B):\n    pass\ndef f():\n    g()\n    h()\n",
            "b.py": "from a import *\nfrom a import f\nclass B(A):\n    def m(self): pass\ndef g():\n    f()\n    A().m()\n",
        }
    )
    assert program.calls("a.py/f().") == {"b.py/g()."}
    assert {"a.py/f().", "~b.py/B#m()."} <= program.calls("b.py/g().")
    assert program.links("inherits") == {"a.py/A# -> b.py/B#", "b.py/B# -> a.py/A#"}


def test_methods_are_found_in_the_order_of_inheritance(project: Make) -> None:
    program = project(
        {
            "base.py": """
                class Root:
                    def __init__(self): pass
                    def go(self): pass
                class Left(Root):
                    def go(self):
                        super().go()
                class Right(Root):
                    def go(self): pass
                class Both(Left, Right):
                    def run(self):
                        self.go()
                        super().go()
                def make():
                    Both()
                """,
        }
    )
    assert program.calls("base.py/Both#run().") == {"base.py/Left#go()."}
    assert program.calls("base.py/Left#go().") == {"base.py/Root#go()."}
    assert program.calls("base.py/make().") == {"base.py/Root#__init__()."}
    assert "base.py/Both# -> base.py/Right#" in program.links("inherits")


def test_a_class_is_no_scope_for_its_methods(project: Make) -> None:
    program = project(
        {
            "m.py": """
                def name(): pass
                class C:
                    def name(self): pass
                    def use(self):
                        name()
                    alias = name
                    def other(self):
                        self.alias()
                """,
        }
    )
    assert program.calls("m.py/C#use().") == {"m.py/name()."}
    assert program.calls("m.py/C#other().") == {"~m.py/C#name()."}


def test_the_first_parameter_of_a_class_method_is_the_class(project: Make) -> None:
    program = project(
        {
            "m.py": """
                class C:
                    def __init__(self): pass
                    def __call__(self): pass
                    @classmethod
                    def make(cls):
                        one = cls()
                        one()
                        return cls.other()
                    @classmethod
                    def other(cls): pass
                """,
        }
    )
    assert program.calls("m.py/C#make().") == {"m.py/C#__init__().", "m.py/C#other().", "~m.py/C#__call__()."}


def test_decorators_are_calls_of_the_scope_around(project: Make) -> None:
    program = project(
        {
            "m.py": """
                def plain(f): return f
                def made(n): return plain
                @plain
                @made(3)
                def f(): pass
                class C:
                    @plain
                    def m(self): pass
                """,
        }
    )
    assert program.calls("m.py/") == {"m.py/plain().", "m.py/made()."}
    assert program.calls("m.py/C#") == {"m.py/plain()."}


def test_values_of_variables_members_and_annotations_are_followed(project: Make) -> None:
    program = project(
        {
            "things.py": """
                from __future__ import annotations
                from typing import Optional, Union
                class Tool:
                    def work(self): pass
                    def copy_of(self) -> Tool: return self
                    @property
                    def next_one(self) -> "Tool": return self
                    def __enter__(self): return self
                class Other:
                    def rest(self): pass
                def make(): return Tool()
                """,
            "use.py": """
                from typing import Optional, Union
                from things import Tool, Other, make
                tool = Tool()
                class Owner:
                    kind: Tool
                    def __init__(self, given: Optional[Tool], many: list[Tool], by: dict[str, "Other"]):
                        self.tool = Tool()
                        self.given = given
                        self.many = many
                        self.by = by
                    def member(self): self.tool.work()
                    def optional(self): self.given.work()
                    def declared(self): self.kind.work()
                    def each(self):
                        for one in self.many:
                            one.work()
                    def lookup(self, k): self.by[k].rest()
                    def chain(self): self.tool.copy_of().next_one.work()
                def returned(): make().work()
                def local():
                    a, b = Tool(), Other()
                    a.work()
                    b.rest()
                def entered():
                    with Tool() as t:
                        t.work()
                def either(x: Union[Tool, Other], y: Tool | None):
                    x.work()
                    y.work()
                def outer(): tool.work()
                def changed():
                    global helper
                    helper = Other()
                def reads(): helper.rest()
                """,
        }
    )
    work, rest = "~things.py/Tool#work().", "~things.py/Other#rest()."
    for name in ("member", "optional", "declared", "each"):
        assert program.calls(f"use.py/Owner#{name}().") == {work}, name
    assert program.calls("use.py/Owner#lookup().") == {rest}
    assert program.calls("use.py/Owner#chain().") == {"~things.py/Tool#copy_of().", work}
    assert program.calls("use.py/returned().") == {"things.py/make().", work}
    assert program.calls("use.py/local().") == {"things.py/Tool#", "things.py/Other#", work, rest}
    assert program.calls("use.py/entered().") == {"things.py/Tool#", work}
    assert program.calls("use.py/either().") == {work}
    assert program.calls("use.py/outer().") == {work}
    assert program.calls("use.py/reads().") == {rest}


def test_functions_inside_functions_lambdas_and_comprehensions_have_names_of_their_own(project: Make) -> None:
    program = project(
        {
            "m.py": """
                def one(): pass
                def two(): pass
                def outer(items):
                    def one(): pass
                    one()
                    return [two() for two in items]
                def after(items):
                    [one for one in items]
                    one()
                    key = lambda two: two()
                    two()
                """,
        }
    )
    assert program.calls("m.py/outer().") == {"m.py/outer().one()."}
    assert program.calls("m.py/after().") == {"m.py/one().", "m.py/two()."}


def test_definitions_of_one_name_are_numbered(project: Make) -> None:
    program = project({"m.py": "try:\n    def f(): pass\nexcept E:\n    def f(): pass\nclass A: pass\nclass A: pass\n"})
    assert {"m.py/f().", "m.py/f(+1).", "m.py/A#", "m.py/A+1#"} <= set(program.nodes())


def test_a_call_runs_the_function_and_not_its_overloads(project: Make) -> None:
    program = project(
        {
            "m.py": """
                from typing import overload
                @overload
                def f(x: int) -> int: ...
                @overload
                def f(x: str) -> str: ...
                def f(x): return x
                def use():
                    f(1)
                """,
        }
    )
    assert program.calls("m.py/use().") == {"m.py/f(+2)."}


def test_what_contains_refers_and_tests(project: Make) -> None:
    program = project(
        {
            "app.py": "class App:\n    def run(self): pass\ndef hook(): pass\nTABLE = [hook]\n",
            "tests/test_app.py": "from app import App\ndef test_run():\n    App().run()\n",
        }
    )
    assert {"app.py/ -> app.py/App#", "app.py/App# -> app.py/App#run()."} <= program.links("contains")
    assert program.links("references", "app.py/") == {"app.py/ -> app.py/hook()."}
    assert program.links("tests") == {
        "tests/test_app.py/test_run(). -> app.py/App#",
        "tests/test_app.py/test_run(). -> ~app.py/App#run().",
    }


def test_a_method_that_only_one_type_has_is_guessed_and_marked_so(project: Make) -> None:
    program = project({"a.py": "class A:\n    def frobnicate(self): pass\n", "b.py": "def f(x):\n    x.frobnicate()\n"})
    assert program.calls("b.py/f().") == {"?a.py/A#frobnicate()."}


def test_a_definition_that_is_renamed_is_lost_to_callers_that_did_not_change(project: Make) -> None:
    program = project({"a.py": "def old(): pass\n", "b.py": "from a import old\ndef f():\n    old()\n"})
    assert program.calls("b.py/f().") == {"a.py/old()."}
    program.files["a.py"] = "def new(): pass\n"
    program.build()
    assert program.report.relinked == 1
    assert program.calls("b.py/f().") == set()
    program.files["a.py"] = "def old(): pass\n"
    program.build()
    assert program.calls("b.py/f().") == {"a.py/old()."}
