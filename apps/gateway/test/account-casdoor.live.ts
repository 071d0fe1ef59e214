import { describe, expect, test } from 'vitest'
import { CASDOOR_TIMEOUT_MS, createCasdoorHttp } from '../src/drivers/identity/casdoor/casdoor-http.ts'
import { createCasdoorSource } from '../src/drivers/identity/casdoor/casdoor-source.ts'
import { systemClock } from '../src/platform/clock.ts'
import { systemIds } from '../src/platform/ids.ts'
import { accountSuite } from './account-suite.ts'
import { createIdentityBench } from './identity-bench.ts'

const {
  BERTH_TEST_CASDOOR_URL: url = '',
  BERTH_TEST_CASDOOR_CLIENT_ID: clientId = '',
  BERTH_TEST_CASDOOR_CLIENT_SECRET: clientSecret = '',
  BERTH_TEST_CASDOOR_ORGANIZATION: organization = '',
  BERTH_TEST_CASDOOR_APPLICATION: application = '',
} = process.env
const settings = { url, clientId, clientSecret, organization, application }

if (url === '') {
  const why = 'BERTH_TEST_CASDOOR_URL names no server'
  process.stderr.write(`SKIP accounts kept by a Casdoor server: ${why}\n`)
  test('accounts kept by a Casdoor server', context => context.skip(why))
} else {
  const source = createCasdoorSource({ settings, clock: systemClock, ids: systemIds })

  describe('the Casdoor server', () => {
    test('is set up as the gateway needs it', async () => {
      expect(await source.findProblems()).toEqual([])
    })

    test('is told apart from one that does not take the credentials', async () => {
      const wrong = { ...settings, clientSecret: 'wrong' }
      const stranger = createCasdoorSource({ settings: wrong, clock: systemClock, ids: systemIds })
      expect(await stranger.findProblems()).toEqual([expect.stringContaining('CASDOOR_CLIENT_SECRET')])
      await expect(stranger.findByEmail('nobody@example.com')).rejects.toThrow('identity_unavailable')
    })
  })

  accountSuite('a Casdoor server', {
    createBench: () => createIdentityBench({ source }),
    async expirePassword(_, email) {
      const profile = await source.findByEmail(email)
      const answer = await createCasdoorHttp(settings).ask({
        path: 'update-user',
        query: { id: `${profile?.owner}/${profile?.name}`, columns: 'need_update_password' },
        json: { needUpdatePassword: true },
        as: 'application',
        address: null,
        timeoutMs: CASDOOR_TIMEOUT_MS.write,
      })
      expect(answer.status).toBe('ok')
    },
  })
}
