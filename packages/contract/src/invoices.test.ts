import { describe, expect, test } from 'vitest'
import { BILLING_ADDRESS_LINES_MAX, billingAddress } from './invoices.ts'

const WHOLE = { name: 'Anna Berg', address: 'Kai 1\n20457 Hamburg', tax_id: 'DE123456789' }

describe('[B23] what is written on invoices', () => {
  test.each([
    ['as it is', {}, WHOLE],
    ['of nobody', { name: '', address: '', tax_id: '' }, { name: '', address: '', tax_id: '' }],
    ['in any script', { name: '港口 شرکت‌ها' }, { ...WHOLE, name: '港口 شرکت‌ها' }],
    ['with the line ends of any system', { address: 'a\r\nb\rc\nd' }, { ...WHOLE, address: 'a\nb\nc\nd' }],
  ])('is kept %s', (_, changes, kept) => {
    expect(billingAddress.parse({ ...WHOLE, ...changes })).toEqual(kept)
  })

  test.each([
    ['a sign that nobody sees', { name: 'Anna\u200b' }, 'not_allowed'],
    ['a sign that turns around what stands beside it', { tax_id: '\u202eDE1' }, 'not_allowed'],
    ['a bell in a line', { address: 'Kai 1\nHamburg\u0007' }, 'not_allowed'],
    ['a tab in a line', { address: 'Kai\t1' }, 'not_allowed'],
    ['two lines as a name', { name: 'Anna\nBerg' }, 'not_allowed'],
    ['a line too many', { address: linesOf('\n') }, 'too_long'],
    ['a line too many as old computers end them', { address: linesOf('\r') }, 'too_long'],
    ['a line too many as others end them', { address: linesOf('\r\n') }, 'too_long'],
  ])('is refused with %s', (_, changes, rule) => {
    const { error } = billingAddress.safeParse({ ...WHOLE, ...changes })
    expect(error?.issues).toMatchObject([{ path: Object.keys(changes), message: rule }])
  })
})

function linesOf(end: string): string {
  return Array.from({ length: BILLING_ADDRESS_LINES_MAX + 1 }, () => 'x').join(end)
}
