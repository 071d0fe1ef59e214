import { DrizzleQueryError } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { createLogTo, serializeError } from './log.ts'

test('what customers typed is not in the error of a query, nor in its causes', () => {
  const cause = Object.assign(new Error('duplicate key value'), {
    code: '23505',
    constraint: 'user_account_email',
    detail: 'Key (email)=(ann@example.org) already exists.',
  })
  const text = JSON.stringify(
    serializeError(new DrizzleQueryError('insert into x', ['ann@example.org'], cause)),
  )
  expect(text).toContain('user_account_email')
  expect(text).toContain('insert into x')
  expect(text).not.toContain('ann@example.org')
})

test('secrets are taken out of entries', () => {
  const lines: string[] = []
  const log = createLogTo({ write: line => lines.push(line) }, { level: 'info' })
  log.info(
    { ticket: 's3cret', nested: { password: 's3cret', token: 's3cret' }, authorization: 'Bearer s3cret' },
    'hello',
  )
  expect(lines.join('')).toContain('hello')
  expect(lines.join('')).not.toContain('s3cret')
})
