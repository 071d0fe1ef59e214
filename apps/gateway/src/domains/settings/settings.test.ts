import { getSettings, getTerms } from '@berth/contract/account'
import { expect, test } from 'vitest'
import { readBrandFiles } from '../../platform/config/brand-files.ts'
import { brands } from '../../platform/config/brands.ts'
import { createSettings } from './settings.ts'

const NORTH = {
  hosts: ['console.north.example', 'localhost:9000'],
  name: 'North',
  docs_url: 'https://docs.north.example',
  image_storage_url: 'https://images.north.example/v1',
  terms: 'https://north.example/terms',
  logo: { light: 'https://cdn.north.example/l.svg', dark: 'https://cdn.north.example/d.svg' },
  analytics: { script_url: 'https://stats.north.example/s.js', attributes: { 'data-site': 'north' } },
}
const catalogue = {
  brands: readBrandFiles(
    brands.parse([
      { ...NORTH, production: true },
      { ...NORTH, hosts: ['staging.north.example'] },
      { hosts: ['default'], name: 'Berth', docs_url: '/gateway/docs' },
    ]),
    '.',
  ),
}
const settings = createSettings({
  catalogue,
  mailbox: true,
  compute: () => ({ driver: 'sandbox' }),
  directPorts: true,
})

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
    brand: {
      name: 'Berth',
      docs_url: '/gateway/docs',
      terms_url: '/terms',
      image_storage_url: null,
      logo: null,
      analytics: null,
    },
    mailbox: true,
    compute: { driver: 'sandbox' },
    direct_ports: true,
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
  })
})

test('[R1.10] the host selects docs, image storage and logo, and only the production host has analytics', () => {
  const { hosts: _, terms: terms_url, ...rest } = NORTH
  const shown = { ...rest, terms_url }
  expect(settings.read('https://console.north.example').brand).toEqual(shown)
  expect(settings.read('https://staging.north.example').brand).toEqual({ ...shown, analytics: null })
})

test('[R1.10] the host selects the terms, in the language of the request', () => {
  const own = settings.terms('http://localhost:8080', 'ko')
  expect(getTerms.data.parse(own)).toEqual(own)
  expect(own).toEqual({ url: '/terms', html: expect.stringContaining('Berth에서는') })
  expect(settings.terms('https://console.north.example', 'ko')).toEqual({ url: NORTH.terms, html: null })
})
