"""JavaScript and TypeScript programs of several files, and the links that they have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., Any]


def test_modules_of_both_kinds(project: Make) -> None:
    program = project(
        {
            "lib/a.js": "export function run() {}\nexport default function main() {}\nexport const later = () => {};\n",
            "lib/index.js": "export * from './a';\nexport { run as start } from './a';\nexport { default as main } from './a';\n",
            "old.js": "function work() {}\nmodule.exports = { work };\nexports.other = function other() {};\n",
            "single.js": "module.exports = function single() {};\n",
            "use.js": """
                import main, { run as r, later } from './lib/a';
                import * as all from './lib/a.js';
                import { start, run } from './lib';
                const old = require('./old');
                const { work } = require('./old');
                const single = require('./single');
                function f() { main(); r(); later(); }
                function g() { all.run(); start(); run(); }
                function h() { old.work(); work(); single(); }
                """,
        }
    )
    assert program.calls("use.js/f().") == {"lib/a.js/main().", "lib/a.js/run().", "lib/a.js/later()."}
    assert program.calls("use.js/g().") == {"lib/a.js/run()."}
    assert {one.lstrip("~") for one in program.calls("use.js/h().")} == {"old.js/work().", "single.js/single()."}
    assert "use.js/ -> lib/index.js/" in program.links("imports")


def test_classes_prototypes_and_objects(project: Make) -> None:
    program = project(
        {
            "base.js": "export class Base { constructor() {} go() {} }\n",
            "m.js": """
                import { Base } from './base';
                class Child extends Base {
                  constructor() { super(); this.part = new Base(); }
                  run() { this.go(); super.go(); this.part.go(); }
                  static make() { return new Child(); }
                }
                function Old() {}
                Old.prototype.step = function () { this.leap(); };
                Old.prototype.leap = function () {};
                const api = { start() { api.stop(); }, stop: function () {}, pause: () => {} };
                function use() {
                  Child.make().run();
                  new Old().step();
                  api.pause();
                  const bound = api.stop.bind(api);
                  bound();
                }
                """,
        }
    )
    assert program.links("inherits") == {"m.js/Child# -> base.js/Base#"}
    run = {one.lstrip("~") for one in program.calls("m.js/Child#run().")}
    assert run == {"base.js/Base#go()."}
    assert "base.js/Base#constructor()." in program.calls("m.js/Child#constructor().")
    found = {one.lstrip("~?") for one in program.calls("m.js/use().")}
    assert {"m.js/Child#make().", "m.js/Child#run()."} <= found
    assert any("step" in one for one in found)
    assert any("pause" in one for one in found)


def test_typescript_has_interfaces_and_parameters_that_are_members(project: Make) -> None:
    program = project(
        {
            "types.ts": "export interface Shape { area(): number }\nexport class Store { put(x: number): void {} }\n",
            "m.ts": """
                import { Shape, Store } from './types';
                export class Square implements Shape {
                  constructor(private store: Store, readonly side: number) {}
                  area(): number { this.store.put(1); return 1; }
                }
                export function use(shape: Shape, many: Store[]): void {
                  shape.area();
                  many[0].put(2);
                }
                """,
            "view.tsx": """
                import { Square } from './m';
                export function Button() { return <b/>; }
                export function Page() { return <div><Button/></div>; }
                """,
        }
    )
    assert program.links("inherits") == {"m.ts/Square# -> types.ts/Shape#"}
    assert program.calls("m.ts/Square#area().") == {"~types.ts/Store#put()."}
    assert program.calls("m.ts/use().") == {"~types.ts/Shape#area().", "~types.ts/Store#put()."}
    page = [e for e in program.edges() if e[0] == "view.tsx/Page()." and e[2] == "view.tsx/Button()."]
    assert page
    assert page[0][3]["line"] == 3
