import { composeGateway } from '../../src/compose.ts'
import { remoteEngine } from './engine-wire.ts'
import { runParts } from './run-parts.ts'
import { openSharedClock } from './shared-clock.ts'

// One gateway of the run, in a process of its own: told what it is by its arguments, killed by whoever started it.
const [url = '', clockFile = '', gatewayId = '', formerGatewayId = ''] = process.argv.slice(2)
const clock = openSharedClock(clockFile)
const parts = runParts({ url, clock }, { gatewayId, level: 'warn' })
const gateway = await composeGateway({
  ...parts,
  formerGatewayId: formerGatewayId || null,
  engines: [
    {
      description: 'the run’s engine',
      regionCodes: parts.catalogue.regions.map(({ code }) => code),
      formerId: () => null,
      open: async () => remoteEngine(clock),
    },
  ],
})
const origin = await gateway.listen(0)
await gateway.start()
process.send?.({ ready: origin })
// Without whoever started it there is no engine: it goes on for nobody.
process.once('disconnect', () => process.exit())
