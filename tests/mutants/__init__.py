"""How many small mistakes the tests would notice: `python -m tests.mutants`.

A mutant is the project with one small change. `python_mutants` makes those of Python (with mutmut's
operators), `cpp_mutants` those of C++; `nearest` says which tests are asked, `workshop` has the copy in which
that happens, `sample` draws and judges. The work tree is never touched.
"""
