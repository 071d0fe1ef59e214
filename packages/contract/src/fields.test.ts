import { describe, expect, test } from 'vitest'
import type * as z from 'zod'
import { signupBody } from './account.ts'
import { topupBody } from './billing.ts'
import { ruleOfMessage } from './errors.ts'
import {
  email,
  hasEmoji,
  isShownAsWritten,
  micro,
  newPassword,
  slug,
  typedPassword,
  username,
} from './fields.ts'
import { deployBody, instanceName, ports } from './instances.ts'

describe('username', () => {
  test.each([
    'Ada',
    'Ada Lovelace',
    'user 007',
    '42',
    'C#',
    '3*4',
    '李雷',
    '田中さん',
    '김철수',
    'Zoë',
    'Ольга',
    'a',
  ])('[R5.1] %j is accepted', value => {
    expect(username.parse(value)).toBe(value)
    expect(hasEmoji(value)).toBe(false)
  })

  test.each([
    ['a smiley', 'Ada 😀'],
    ['a plain symbol with an emoji form', 'Ada ❤'],
    ['a symbol in its emoji form', 'Ada ❤\u{FE0F}'],
    ['a family joined to one picture', '\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}'],
    ['a flag', '🇩🇪'],
    ['half a flag', '\u{1F1E9}'],
    ['a flag of tags', '\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}'],
    ['a keycap', '1\u{FE0F}\u{20E3}'],
    ['a keycap without its selector', '1\u{20E3}'],
    ['a digit in its emoji form', '1\u{FE0F}'],
    ['a hand with a skin tone', '👋🏽'],
    ['a skin tone alone', 'Ada \u{1F3FD}'],
  ])('[R5.1] %s is refused', (_name, value) => {
    expect(rulesOf(username, value)).toEqual(['username_emoji'])
  })

  test('[R5.1] one that is not seen, or read otherwise than it is written, is refused', () => {
    for (const value of ['\u200b', 'Ada\u200d', 'Ada\u202elenna', 'Ada\u2028x', '\u3164'])
      expect(rulesOf(username, value), JSON.stringify(value)).toEqual(['not_allowed'])
  })

  test('[R5.1] it is needed, and spaces are none', () => {
    for (const value of [undefined, null, '', '   ', 7])
      expect(rulesOf(username, value)).toEqual(['username_required'])
  })

  test('it is trimmed and at most 64 characters long', () => {
    expect(username.parse('  Ada ')).toBe('Ada')
    expect(username.parse('a'.repeat(64))).toHaveLength(64)
    expect(rulesOf(username, 'a'.repeat(65))).toEqual(['too_long'])
  })
})

describe('[R6.4] a name that others are shown', () => {
  test.each([
    'PyTorch 2.9 (CUDA 13)',
    'dev 👩‍💻',
    '1\ufe0f\u20e3 first',
    '❤\ufe0f',
    'می‌خواهم',
    'क्‍ष',
    'é e\u0301',
    '한국어',
    '名前',
    'שלום',
  ])('%j is shown as it is written', name => {
    expect(isShownAsWritten(name)).toBe(true)
  })

  test.each([
    ['a space of no width', 'PyTorch\u200b'],
    ['nothing else', '\u200b\u2060'],
    ['a joiner that joins nothing', 'PyTorch\u200d'],
    ['the emoji form of a letter', 'PyTorch\ufe0f'],
    ['a soft hyphen', 'Py\u00adTorch'],
    ['a mark that turns text around', 'safe\u202egnp.exe'],
    ['one that opens a direction', '\u2066PyTorch'],
    ['a filler that counts as a letter', '\u3164\u3164'],
    ['a blank that counts as a sign', '\u2800\u2800'],
    ['letters of tags', 'PyTorch\u{e0041}'],
    ['the end of a line', 'Py\u2028Torch'],
    ['a control character', 'Py\u001b[2J'],
    ['what only one font knows', '\ue000'],
  ])('%s is refused', (_, name) => {
    expect(isShownAsWritten(name)).toBe(false)
  })
})

describe('password', () => {
  test.each(['Abcdef1!', 'ÄÖüß123?', 'correct Horse 1_', 'A1b-----', `Aa1!${'x'.repeat(124)}`])(
    '[R5.2] %j is strong enough',
    value => {
      expect(newPassword.parse(value)).toBe(value)
    },
  )

  test.each([
    ['seven characters', 'Abcde1!'],
    ['no upper case letter', 'abcdef1!'],
    ['no lower case letter', 'ABCDEF1!'],
    ['no digit', 'Abcdefg!'],
    ['no special character', 'Abcdefg1'],
    ['a space for the special character', 'Abc def1'],
    ['a letter of another script for the special character', 'Abcdef1密'],
    ['nothing', ''],
    ['no text', 12345678],
  ])('[R5.2] %s is refused', (_name, value) => {
    expect(new Set(rulesOf(newPassword, value))).toEqual(new Set(['password']))
  })

  test('its length has an end, for a new one and for one that is typed to sign in', () => {
    expect(rulesOf(newPassword, `Aa1!${'x'.repeat(125)}`)).toEqual(['too_long'])
    expect(rulesOf(typedPassword, 'x'.repeat(129))).toEqual(['too_long'])
    expect(rulesOf(typedPassword, '')).toEqual(['required'])
    expect(typedPassword.parse('old')).toBe('old')
  })
})

describe('e-mail address and terms', () => {
  test.each([
    ['ada@example.com', 'ada@example.com'],
    ['  Ada@Example.COM ', 'ada@example.com'],
    ['a+b.c-d@mail.example.co.uk', 'a+b.c-d@mail.example.co.uk'],
  ])('[R5.3] %j is kept as %j', (value, kept) => {
    expect(email.parse(value)).toBe(kept)
  })

  test.each([
    '',
    ' ',
    'ada',
    'ada@',
    '@example.com',
    'ada@localhost',
    'ada lovelace@example.com',
    'ada@@example.com',
    'ada@example..com',
    'ada@example.com, bob@example.com',
    'Ada <ada@example.com>',
    'ada@example.com\nBcc: bob@example.com',
    `ada@${'a'.repeat(60)}.${'b'.repeat(200)}.com`,
    null,
    undefined,
  ])('[R5.3] %j is refused', value => {
    expect(rulesOf(email, value)).toEqual(['email'])
  })

  test('[R5.3] an account needs the terms agreed to', () => {
    const form = {
      application: 'berth-console',
      organization: 'berth',
      username: 'ada@example.com',
      password: 'Abcdef1!',
      name: 'Ada',
      email: 'ada@example.com',
    }
    expect(signupBody.safeParse({ ...form, agreement: true }).success).toBe(true)
    for (const agreement of [false, undefined, 'true', 1])
      expect(rulesOf(signupBody, { ...form, agreement })).toEqual(['terms'])
  })
})

describe('instance name', () => {
  test.each(['a', 'A-b_9', '-', '0', 'x'.repeat(63)])('[R5.4] %j is accepted', value => {
    expect(instanceName.parse(value)).toBe(value)
  })

  test.each([
    ['', 'instance_name_required'],
    [undefined, 'instance_name_required'],
    [null, 'instance_name_required'],
    ['x'.repeat(64), 'instance_name_length'],
    ['my pod', 'instance_name_characters'],
    [' pod', 'instance_name_characters'],
    ['pod\n', 'instance_name_characters'],
    ['pod.1', 'instance_name_characters'],
    ['größe', 'instance_name_characters'],
    ['实例', 'instance_name_characters'],
    ['pod😀', 'instance_name_characters'],
    ['<b>', 'instance_name_characters'],
  ])('[R5.4] %j breaks %s', (value, rule) => {
    expect(rulesOf(instanceName, value)[0]).toBe(rule)
  })
})

describe('ports', () => {
  test('[R5.5] up to ten ports from 1 to 65535 are accepted', () => {
    for (const list of [[], [1], [65_535], [80, 443, 1, 2, 3, 4, 5, 6, 7, 8]])
      expect(ports.parse(list)).toEqual(list)
  })

  test.each([0, -1, 65_536, 80.5, Number.NaN, Number.POSITIVE_INFINITY, '80', null])(
    '[R5.5] %j is no port',
    port => {
      expect(rulesOf(ports, [443, port])).toEqual(['port_range'])
    },
  )

  test('[R5.5] eleven are too many, and the same one twice is refused', () => {
    expect(rulesOf(ports, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])).toEqual(['ports_max'])
    expect(rulesOf(ports, [80, 443, 80])).toEqual(['port_duplicate'])
  })
})

describe('start command and environment', () => {
  test('[R5.5] a start command has at most 500 characters', () => {
    expect(deployBody.shape.start_command.safeParse('x'.repeat(500)).success).toBe(true)
    expect(rulesOf(deployBody.shape.start_command, 'x'.repeat(501))).toEqual(['too_long'])
  })

  test.each([
    [{ '1A': 'x' }, 'env_name'],
    [{ 'A-B': 'x' }, 'env_name'],
    [{ '': 'x' }, 'env_name'],
    [{ ['A'.repeat(129)]: 'x' }, 'too_long'],
    [{ A: 'x'.repeat(4_001) }, 'too_long'],
    [{ A: 1 }, 'wrong_type'],
    ['A=1', 'wrong_type'],
    [Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`A${index}`, ''])), 'too_large'],
  ])('an environment that cannot be set names its rule (%#)', (env, rule) => {
    expect(rulesOf(deployBody.shape.env, env)).toEqual([rule])
  })

  test('an environment of fifty variables is accepted', () => {
    const env = Object.fromEntries(
      Array.from({ length: 50 }, (_, index) => [`_a${index}`, 'x'.repeat(4_000)]),
    )
    expect(deployBody.shape.env.parse(env)).toEqual(env)
  })
})

describe('top-up amount', () => {
  const form = { currency: 'USD', platform_name: 'testcard', source: '4242424242424242' }

  test.each([100, 2_550, 1_000_000])('[R5.8] %i cents are accepted', amount => {
    expect(topupBody.safeParse({ ...form, amount }).success).toBe(true)
  })

  test.each([
    0,
    1,
    99,
    -100,
    100.5,
    1_000_001,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    2 ** 53,
    '100',
    '',
    null,
    undefined,
    true,
    [100],
  ])('[R5.8] %j is an invalid amount', amount => {
    expect(new Set(rulesOf(topupBody, { ...form, amount }))).toEqual(new Set(['invalid_amount']))
  })

  test('what is said of an amount that is not taken has the limits', () => {
    const { error } = topupBody.safeParse({ ...form, amount: 99 })
    expect(ruleOfMessage(error?.issues[0]?.message ?? '')).toEqual({
      rule: 'invalid_amount',
      values: { least: '1.00', most: '10,000.00' },
    })
  })

  test('[R9.3] a currency other than dollars and euros is refused', () => {
    expect(topupBody.safeParse({ ...form, amount: 100, currency: 'EUR' }).success).toBe(true)
    expect(rulesOf(topupBody, { ...form, amount: 100, currency: 'GBP' })).toEqual(['not_allowed'])
  })
})

describe('identifiers and micro-units on the wire', () => {
  test('a slug cannot leave its folder or its header', () => {
    expect(slug.safeParse('rtx-4090_v1.2').success).toBe(true)
    for (const value of ['a/b', 'a b', 'a\r\nb', 'a?b', 'a%2fb'])
      expect(rulesOf(slug, value)).toEqual(['not_allowed'])
  })

  test('micro-units are whole decimal digits with an optional sign', () => {
    for (const value of ['0', '-1', '9007199254740993']) expect(micro.safeParse(value).success).toBe(true)
    for (const value of ['', '1.5', '+1', '1e3', '−1', '1\n', 1])
      expect(micro.safeParse(value).success).toBe(false)
  })
})

/** The rules that a value breaks, in the order in which they are found. */
function rulesOf(schema: z.ZodType, value: unknown): string[] {
  const result = schema.safeParse(value)
  return result.success ? [] : result.error.issues.map(({ message }) => ruleOfMessage(message).rule)
}
