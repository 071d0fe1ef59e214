import { describeLauncher } from './launcher-fixture.ts'

// What `unshare` makes, where there is no bubblewrap. It has its turn: see `scripts/test/turns.ts`.
await describeLauncher('unshare')
