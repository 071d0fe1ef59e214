import { ERRORS } from '@berth/contract/errors'
import { expect, test } from 'vitest'
import { ApiError } from '../../platform/http/api-error.ts'
import { failedDeployOf, NotNow } from './failed-deploy.ts'

const fields = (...rules: string[]) => ({ fields: rules.map(rule => ({ path: 'image_reference', rule })) })

test.each([
  ['a registry that is away', new ApiError('validation_failed', fields('image_registry_away')), 'passing'],
  ['an engine that is away', new ApiError('compute_unavailable'), 'passing'],
  ['stock that somebody else was given first', new ApiError('gpu_sold_out'), 'passing'],
  ['a database that is away', new ApiError('unavailable'), 'passing'],
  ['an image that is gone', new ApiError('validation_failed', fields('image_not_found')), 'refused'],
  [
    'a registry that is away and a field that is wrong',
    new ApiError('validation_failed', fields('image_registry_away', 'not_allowed')),
    'refused',
  ],
  ['a catalogue image that is gone', new ApiError('image_unknown'), 'refused'],
  ['too little money', new ApiError('insufficient_balance'), 'held'],
  ['a budget that is used up', new ApiError('budget_reached'), 'held'],
  ['a price above its own', new NotNow('price_above'), 'held'],
  ['a watch that was cancelled meanwhile', new NotNow('ended'), 'over'],
  ['a deleted account', new ApiError('login_expired'), 'over'],
  ['a mistake of ours', new TypeError('no such thing'), 'unknown'],
])('[B15] what %s means for a watch', (_, error, expected) => {
  expect(failedDeployOf(error).is).toBe(expected)
})

test('[B15] what may be tried again as it is never ends a watch', () => {
  for (const [code, { verdict }] of Object.entries(ERRORS)) {
    if (verdict !== 'retry') continue
    expect(failedDeployOf(new ApiError(code as keyof typeof ERRORS)).is, code).not.toBe('refused')
  }
})
