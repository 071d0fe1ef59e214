import { getSettings } from '@berth/contract/account'
import { expect, test } from 'vitest'
import { createSettings } from './settings.ts'

const catalogue = {
  brands: [
    {
      hosts: ['console.north.example', 'localhost:9000'],
      name: 'North',
      docs_url: 'https://docs.north.example',
    },
    { hosts: ['default'], name: 'Berth', docs_url: '/gateway/docs' },
  ],
}
const settings = createSettings({ catalogue, mailbox: true, compute: { driver: 'sandbox', why: null } })

test.each([
  ['https://console.north.example', 'North'],
  ['https://console.north.example:8443', 'North'],
  ['http://localhost:9000', 'North'],
  ['http://localhost:8080', 'Berth'],
  ['https://north.example', 'Berth'],
  ['https://default', 'Berth'],
  ['nonsense', 'Berth'],
])('[R1.10] the host of %s selects the brand %s', (origin, name) => {
  expect(settings.read(origin).brand.name).toBe(name)
})

test('[R1.10] settings say what this installation has, as the contract has it', () => {
  const answer = settings.read('http://localhost:8080')
  expect(getSettings.data.parse(answer)).toEqual(answer)
  expect(answer).toEqual({
    brand: { name: 'Berth', docs_url: '/gateway/docs' },
    mailbox: true,
    compute: { driver: 'sandbox', why: null },
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
  })
})
