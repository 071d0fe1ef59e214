import { makeImportsQuick } from './platform/quick-imports.ts'

// First of all, and alone: what is imported beside it would be read before it can help.
makeImportsQuick()
await import('./run.ts')
