import { readFileSync } from 'node:fs'
import { calls } from '@berth/contract/calls'
import { expect, test } from 'vitest'
import { AUDIT_GROUPS } from './audit-groups.ts'

/** These have a log of their own, or stand among the credits. */
const NEVER_NOTED = ['model', 'check_in']
/** What the log may hold: changes, those of guests too where a domain notes them by itself. */
const CHANGES = calls.filter(
  call => !call.readOnly && !NEVER_NOTED.includes(call.operation.split('.')[0] ?? ''),
)
const texts = JSON.parse(
  readFileSync(new URL('../../../../public/locales/en/settings.json', import.meta.url), 'utf8'),
)
const errors: Record<string, unknown> = JSON.parse(
  readFileSync(
    new URL('../../../../../../packages/contract/locales/en/errors.json', import.meta.url),
    'utf8',
  ),
)

test.each(CHANGES.map(call => call.operation))('[B12] the audit log says %s in words', operation => {
  const [domain = '', name = ''] = operation.split('.')
  expect(texts.audit.actions[domain]?.[name], `audit.actions.${operation} in settings.json`).toBeTypeOf(
    'string',
  )
})

test('[B12] the log can be narrowed to whatever changes something', () => {
  const domains = new Set(CHANGES.map(call => call.operation.split('.')[0]))
  expect([...AUDIT_GROUPS].sort()).toEqual([...domains].sort())
})

test('[B12] a refusal whose text holds a figure has a wording for the log, which keeps no figures', () => {
  const lacking = Object.entries(errors)
    .filter(([, text]) => typeof text === 'string' && text.includes('{{'))
    .map(([code]) => code)
    .filter(code => texts.audit.reasons[code] === undefined)
  expect(lacking).toEqual([])
})
