import { getApplication, listMailbox, signup } from '@berth/contract/account'
import { newPassword } from '@berth/contract/fields'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  createIdentityBench,
  eventually,
  type IdentityBench,
  signUpBody,
} from '../../../../test/identity-bench.ts'

let bench: IdentityBench
beforeAll(async () => {
  bench = await createIdentityBench()
})
afterAll(() => bench.close())

test('[R3.2] [R1.8] the application has what a sign-in page reads of Casdoor', async () => {
  const { data } = await bench.call(getApplication, { query: { id: 'admin/berth-console' } })
  expect(data).toMatchObject({
    owner: 'admin',
    name: 'berth-console',
    displayName: 'Berth',
    organization: 'berth',
    enableSignUp: true,
    signinMethods: [{ name: 'Password', displayName: 'Password', rule: 'All' }],
    providers: [],
    termsOfUse: '',
    organizationObj: { name: 'berth' },
  })
  const required = data?.signupItems.filter(item => item.visible && item.required).map(item => item.name)
  expect(required).toEqual(['Display name', 'Email', 'Password', 'Confirm password', 'Agreement'])
  // No mail code is asked for at sign-up: Casdoor says so by this rule.
  expect(data?.signupItems.find(({ name }) => name === 'Email')).toMatchObject({ rule: 'No verification' })
})

test('[R3.2] the password rules that it names are those that sign-up holds', async () => {
  const { data } = await bench.call(getApplication, { query: { id: 'admin/berth-console' } })
  const broken: Record<string, string> = { AtLeast8: 'Abc-12x', Aa123: 'abcdef-7', SpecialChar: 'Abcdefg7' }
  expect(data?.organizationObj.passwordOptions.sort()).toEqual(Object.keys(broken).sort())
  for (const password of Object.values(broken)) expect(newPassword.safeParse(password).success).toBe(false)
})

test.each(['admin/other', 'other/berth-console', '/berth-console', 'admin/'])(
  '[R3.2] %s is unknown, which is no error',
  async id => {
    expect(await bench.call(getApplication, { query: { id } })).toMatchObject({ data: null, code: null })
  },
)

test.each(['berth-console', 'admin/berth-console/x', ''])('[R3.2] the id “%s” is refused', async id => {
  const answer = await bench.call(getApplication, { query: { id } })
  expect(answer).toMatchObject({ code: 'validation_failed', fields: ['id: not_allowed'] })
})

test('the mailbox is shown on this machine, by a name of this machine, and nowhere else', async () => {
  await bench.call(signup, { body: signUpBody('mailbox@example.com') })
  const [mail] = await eventually('the mail', async () => {
    const { data } = await bench.call(listMailbox, {}, { direct: true })
    return data && data.items.length > 0 && data.items
  })
  expect(mail).toMatchObject({ to: 'mailbox@example.com', sent_at: bench.clock.now().toISOString() })
  const here = { address: '::ffff:127.0.0.1', origin: 'http://localhost:8080', forwarded: false }
  expect(await bench.identity.mails(here)).toHaveLength(1)
  for (const elsewhere of [
    { address: '203.0.113.7' },
    { origin: 'http://rebound.example.com:8080' },
    { address: '203.0.113.7', origin: 'https://console.example.com' },
    { forwarded: true },
  ]) {
    await expect(bench.identity.mails({ ...here, ...elsewhere })).rejects.toMatchObject({ code: 'not_found' })
  }
  // Whoever a proxy names, and though it is trusted.
  expect((await bench.call(listMailbox, {}, here)).code).toBe('not_found')
})
