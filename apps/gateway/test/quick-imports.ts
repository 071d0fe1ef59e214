import { makeImportsQuick } from '../src/platform/quick-imports.ts'

// Loaded into each process of the tests: without it the packages take two seconds in each to be found and compiled.
makeImportsQuick()
