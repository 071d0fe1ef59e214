import { registerHooks } from 'node:module'
import { createQuickResolve } from '../src/platform/quick-imports.ts'

// Loaded into each process of the tests: reading the manifest of drizzle-orm takes a second in each.
registerHooks({ resolve: createQuickResolve() })
