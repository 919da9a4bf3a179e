"""Java, C#, Go and Rust programs of several files, and the links that they have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., Any]


def bare(found: set[str]) -> set[str]:
    return {one.lstrip("~?") for one in found}


def test_java(project: Make) -> None:
    program = project(
        {
            "com/lib/Tool.java": """
                package com.lib;
                public class Tool {
                  public Tool() {}
                  public Tool(int size) {}
                  public void work() {}
                  public void work(int times) {}
                  public static Tool of() { return new Tool(3); }
                  public static class Part { public void fit() {} }
                  public enum Mode { FAST; public void set() {} }
                }
                """,
            "com/lib/Face.java": "package com.lib;\npublic interface Face { void see(); }\n",
            "com/app/App.java": """
                package com.app;
                import com.lib.Tool;
                import com.lib.Face;
                import static com.lib.Tool.of;
                public class App implements Face {
                  private final Tool tool = new Tool();
                  public void see() { tool.work(); tool.work(2); of().work(); helper(); this.helper(); }
                  void helper() { new Tool.Part().fit(); Tool.Mode.FAST.set(); Neighbour.help(); }
                  void anonymous() { Face face = new Face() { public void see() { helper(); } }; face.see(); }
                  record Point(Tool at) { void go() { at.work(); } }
                }
                """,
            "com/app/Neighbour.java": "package com.app;\nclass Neighbour { static void help() {} }\n",
        }
    )
    tool = "com/lib/Tool.java/Tool#"
    assert program.links("inherits", "com/app/App.java/App#") == {"com/app/App.java/App# -> com/lib/Face.java/Face#"}
    see = bare(program.calls("com/app/App.java/App#see()."))
    assert {f"{tool}work().", f"{tool}work(+1).", f"{tool}of().", "com/app/App.java/App#helper()."} == see
    helper = bare(program.calls("com/app/App.java/App#helper()."))
    assert {f"{tool}Part#fit().", f"{tool}Mode#set().", "com/app/Neighbour.java/Neighbour#help()."} <= helper
    assert "com/lib/Face.java/Face#see()." in bare(program.calls("com/app/App.java/App#anonymous()."))
    assert bare(program.calls("com/app/App.java/App#Point#go().")) == {f"{tool}work()."}
    assert any(target.endswith(f"{tool}") for target in program.links("imports", "com/app/App.java/"))


def test_csharp(project: Make) -> None:
    program = project(
        {
            "A1.cs": "namespace App.Core;\npublic partial class Both { public void First() { Second(); } }\n",
            "A2.cs": "namespace App.Core\n{\n  public partial class Both { public void Second() {} public Both Other { get; set; } }\n}\n",
            "Ext.cs": "namespace App.Text;\npublic static class Words { public static string ToTitle(this string s) { return s; } }\n",
            "Maths.cs": "namespace App { namespace Inner { public static class Maths { public static int Twice(int x) { return x; } } } }\n",
            "Around.cs": "namespace App;\npublic static class Neighbour { public static void Wave() {} }\n",
            "Use.cs": """
                using App.Core;
                using App.Text;
                using static App.Inner.Maths;
                namespace App.Main;
                public interface IRun { void Run(); }
                public class Use : IRun {
                  public void Run() { string s = "a"; s.ToTitle(); Twice(2); }
                  public void Around() { Neighbour.Wave(); }
                  public void Members(Both both) { both.Other.Second(); both.First(); }
                }
                """,
        }
    )
    assert program.calls("A1.cs/Both#First().") == {"A2.cs/Both#Second()."}
    assert program.calls("Use.cs/Use#Run().") == {"~Ext.cs/Words#ToTitle().", "Maths.cs/Maths#Twice()."}
    assert bare(program.calls("Use.cs/Use#Members().")) == {"A2.cs/Both#Second().", "A1.cs/Both#First()."}
    assert program.calls("Use.cs/Use#Around().") == {"Around.cs/Neighbour#Wave()."}
    assert program.links("inherits") == {"Use.cs/Use# -> Use.cs/IRun#"}


def test_go(project: Make) -> None:
    program = project(
        {
            "go.mod": "module example.com/shop\n\ngo 1.22\n",
            "store/store.go": """
                package store

                type Saver interface {
                	Save(key string) error
                	Close()
                }

                type Closer interface{ Close() }

                type Disk struct{ Base }

                func New() *Disk { return &Disk{} }
                """,
            "store/disk.go": "package store\n\nfunc (d *Disk) Save(key string) error { d.flush(); return nil }\n\nfunc (d *Disk) flush() {}\n",
            "store/base.go": "package store\n\ntype Base struct{}\n\nfunc (b *Base) Close() {}\n",
            "main.go": """
                package main

                import (
                	"fmt"
                	"example.com/shop/store"
                )

                func main() {
                	disk := store.New()
                	disk.Save("a")
                	disk.Close()
                	fmt.Println(1)
                }

                func take(saver store.Saver) { saver.Save("b") }
                """,
        }
    )
    assert program.calls("store/disk.go/Disk#Save().") == {"~store/disk.go/Disk#flush()."}
    main = bare(program.calls("main.go/main()."))
    assert main == {"store/store.go/New().", "store/disk.go/Disk#Save().", "store/base.go/Base#Close()."}
    assert program.calls("main.go/take().") == {"~store/store.go/Saver#Save()."}
    inherits = program.links("inherits")
    assert "store/store.go/Disk# -> ~store/store.go/Saver#" in inherits
    assert "store/base.go/Base# -> ~store/store.go/Closer#" in inherits
    assert "store/base.go/Base# -> ~store/store.go/Saver#" not in inherits
    del program.files["store/disk.go"]  # the type has lost a method in a file that is not its own
    program.build()
    assert "store/store.go/Disk# -> ~store/store.go/Saver#" not in program.links("inherits")


def test_rust(project: Make) -> None:
    program = project(
        {
            "src/lib.rs": "pub mod shapes;\npub mod util;\npub fn top() { util::helper(); crate::util::deep::dig(); }\n",
            "src/util/mod.rs": "pub mod deep;\npub fn helper() {}\n",
            "src/util/deep.rs": "pub fn dig() { super::helper(); }\n",
            "src/shapes.rs": """
                use crate::util::{self, helper as h, deep::*};

                pub trait Area {
                    fn area(&self) -> i32;
                    fn twice(&self) -> i32 { self.area() }
                }
                pub struct Square { side: i32 }
                pub enum Kind { Small, Big(i32) }
                impl Square {
                    pub fn new() -> Self { Self::check(); Square { side: 1 } }
                    fn check() {}
                    pub fn load() -> Result<Square, String> { Ok(Square::new()) }
                }
                impl Area for Square {
                    fn area(&self) -> i32 { self.side }
                }
                impl Kind {
                    pub fn name(&self) {}
                }
                pub fn use_all() -> Result<(), String> {
                    h();
                    dig();
                    util::helper();
                    let square = Square::new();
                    square.area();
                    square.twice();
                    Square::load()?.area();
                    Kind::Small.name();
                    Ok(())
                }
                """,
        }
    )
    assert program.calls("src/lib.rs/top().") == {"src/util/mod.rs/helper().", "src/util/deep.rs/dig()."}
    assert program.calls("src/util/deep.rs/dig().") == {"src/util/mod.rs/helper()."}
    found = bare(program.calls("src/shapes.rs/use_all()."))
    shapes = "src/shapes.rs/"
    assert {
        "src/util/mod.rs/helper().",
        "src/util/deep.rs/dig().",
        f"{shapes}Square#new().",
        f"{shapes}Square#area().",
        f"{shapes}Area#twice().",
        f"{shapes}Square#load().",
        f"{shapes}Kind#name().",
    } == found
    assert bare(program.calls(f"{shapes}Square#new().")) == {f"{shapes}Square#check()."}
    assert f"{shapes}Square# -> {shapes}Area#" in program.links("inherits")
