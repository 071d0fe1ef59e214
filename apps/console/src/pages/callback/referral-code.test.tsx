import { login } from '@berth/contract/account'
import { expect, test, vi } from 'vitest'
import { writeReferralCode } from '../../app/session/session-storage.ts'
import { answerCalls, Refusal } from '../../gateway-fixture.tsx'
import { finishVisit, readAnswer } from './finish-visit.ts'

test.each(['signup', 'signin'] as const)(
  '[R2.11] the code of a link is sent with whoever comes back from another service, by %s',
  async method => {
    writeReferralCode('mira-abcdef')
    // What the gateway says to it is told elsewhere.
    const asked = vi.fn((_: unknown) => new Refusal([], 'internal', 500))
    await answerCalls({ [login.operation]: asked }, { user: null })
    const visit = {
      ...{ provider: 'acme', method, state: 'ours', browserKey: 'key' },
      ...{ redirectUri: 'https://berth.example/callback', returnTo: '/' },
    }
    await finishVisit(readAnswer('?code=c&state=ours'), visit)
    expect(asked.mock.calls[0]?.[0]).toMatchObject({ body: { referralCode: 'mira-abcdef', code: 'c' } })
  },
)
