import { createCasdoorSource } from '../src/drivers/identity/casdoor/casdoor-source.ts'
import { systemClock } from '../src/platform/clock.ts'
import { systemIds } from '../src/platform/ids.ts'
import { accountSuite } from './account-suite.ts'
import { type CasdoorServer, startCasdoorServer } from './casdoor-server.ts'
import { createIdentityBench } from './identity-bench.ts'

let casdoor: CasdoorServer

accountSuite('a server that speaks as Casdoor does', {
  async createBench() {
    casdoor = await startCasdoorServer()
    const { settings } = casdoor
    return await createIdentityBench({
      source: createCasdoorSource({ settings, clock: systemClock, ids: systemIds }),
    })
  },
  async expirePassword(_, email) {
    Object.assign(casdoor.userByEmail(email) ?? {}, { needUpdatePassword: true })
  },
  async takePassword(_, email) {
    Object.assign(casdoor.userByEmail(email) ?? {}, { plainPassword: '' })
  },
  close: async () => await casdoor.close(),
})
