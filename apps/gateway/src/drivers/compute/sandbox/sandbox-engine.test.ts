import { describeLauncher } from './launcher-fixture.ts'

await describeLauncher('bwrap')
