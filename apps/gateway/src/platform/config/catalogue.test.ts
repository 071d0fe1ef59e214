import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { CatalogueError, loadCatalogue, parseCatalogue } from './catalogue.ts'
import { sayIn } from './catalogue-words.ts'

const SHIPPED = fileURLToPath(new URL('../../../../../config/catalogue.yaml', import.meta.url))
const source = readFileSync(SHIPPED, 'utf8')

describe('the shipped catalogue', () => {
  test('[R3.3] holds regions and GPU specs with exact prices', () => {
    const catalogue = loadCatalogue(SHIPPED)
    expect(catalogue.regions.map(({ code }) => code)).toContain('us-west')
    expect(catalogue.gpu_specs.find(({ id }) => id === 'rtx-4090')?.price_micro_per_hour).toBe(420_000n)
  })

  test('[R9.5] charges only the part of the disk that is not free, at an exact rate', () => {
    expect(loadCatalogue(SHIPPED).prices.disk_micro_per_gb_hour).toBe(140n)
  })
})

describe('[R9.7] what referring earns', () => {
  const withReferral = (text: string) => source.replace(/^referral:\n(?: .*\n)+/m, text)
  const SEED = {
    ...{ rewardMicro: 5_000_000n, friendRewardMicro: 5_000_000n, firstTopupMicro: 10_000_000n },
    ...{ rebateHundredths: 500, thresholdMicro: 20_000_000n, cashFeeHundredths: 2_000 },
    ...{ choiceDays: 30, paypalFrozenHours: 72 },
  }

  test("is the seed's, in the catalogue that ships and in one that says nothing of it", () => {
    expect(loadCatalogue(SHIPPED).referral).toEqual(SEED)
    expect(parseCatalogue(withReferral(''), 'catalogue.yaml').referral).toEqual(SEED)
  })

  test('is what the catalogue says, part by part', () => {
    const said = withReferral('referral:\n  rebate_percent: 2.55\n  threshold: "50.00"\n')
    expect(parseCatalogue(said, 'catalogue.yaml').referral).toEqual({
      ...{ ...SEED, rebateHundredths: 255, thresholdMicro: 50_000_000n },
    })
  })

  test.each([
    ['  reward: "0.005"\n', 'whole cents'],
    ['  rebate_percent: 0.001\n', 'two decimals'],
    ['  rebate_percent: 101\n', 'rebate_percent'],
    ['  choice_days: 0\n', 'choice_days'],
    ['  reword: "5.00"\n', 'reword'],
  ])('is refused where it makes no sense: %s', (line, said) => {
    expect(messageOf(withReferral(`referral:\n${line}`))).toContain(said)
  })
})

describe('texts in several languages', () => {
  test('[R1.9] a text may be one for all languages, or a map; what is not translated stays English', () => {
    const { words, regions } = parseCatalogue(source, 'catalogue.yaml')
    const say = sayIn({ words })
    expect(regions.map(({ name }) => name)).toEqual(['us-west', 'Frankfurt', 'Singapore', 'São Paulo'])
    expect(say('Frankfurt', 'ja')).toBe('フランクフルト')
    expect(say('Frankfurt', 'en')).toBe('Frankfurt')
    expect(say('us-west', 'ko')).toBe('us-west')
  })

  test('a language that is none, a missing English text, and two translations of one text are refused', () => {
    const from = '{ en: Frankfurt, zh: 法兰克福, ja: フランクフルト, ko: 프랑크푸르트 }'
    expect(messageOf(source.replace(from, '{ en: Frankfurt, fr: Francfort }'))).toContain('regions.1.name')
    expect(messageOf(source.replace(from, '{ zh: 法兰克福 }'))).toContain('regions.1.name.en')
    expect(messageOf(source.replace(from, '{ en: Singapore, zh: 法兰克福 }'))).toContain(
      'translated in two ways: Singapore',
    )
  })
})

describe('a mistake names file, line and field', () => {
  const lineOf = (text: string, part: string) => text.slice(0, text.indexOf(part)).split('\n').length

  test.each([
    [
      'a price that is a number',
      'price_per_hour: "0.42"',
      'price_per_hour: 0.42',
      'gpu_specs.2.price_per_hour',
    ],
    [
      'a price with too many decimals',
      'price_per_hour: "0.42"',
      'price_per_hour: "0.1234567"',
      'gpu_specs.2.price_per_hour',
    ],
    [
      'a week that costs more than its hours',
      'price_per_hour: "0.42"',
      'price_per_week: "70.57"\n    price_per_hour: "0.42"',
      'gpu_specs.2.price_per_week',
    ],
    [
      'a month for nothing',
      'price_per_hour: "0.42"',
      'price_per_month: "0"\n    price_per_hour: "0.42"',
      'gpu_specs.2.price_per_month',
    ],
    [
      'a discount of everything',
      'term_discount_percent: { weekly: 10, monthly: 20 }',
      'term_discount_percent: { weekly: 100, monthly: 15 }',
      'prices.term_discount_percent.weekly',
    ],
    ['an unknown field', 'disk_gb_hour: "0.00014"', 'disk_gb_hours: "0.00014"', 'prices'],
    ['a region that does not exist', 'stock: { us-west: 0 }', 'stock: { moon: 0 }', 'gpu_specs.6.stock.moon'],
    ['a spec that is there twice', '- id: b200', '- id: l4 # again', 'gpu_specs.6.id'],
    ['a port out of range', 'http_ports: [8080]', 'http_ports: [80800]', 'images.0.http_ports.0'],
  ])('%s', (_, from, to, field) => {
    expect(source).toContain(from)
    const broken = source.replace(from, to)
    expect(messageOf(broken)).toContain(`catalogue.yaml:${lineOf(broken, to)}: ${field}`)
  })

  test('a registry that is there twice', () => {
    const twice = `${source}\nregistries:\n  - host: ghcr.io\n  - host: ghcr.io\n`
    expect(messageOf(twice)).toContain('registries.1.host: is there twice: ghcr.io')
  })

  test('text that is not YAML', () => {
    expect(messageOf('regions: [')).toMatch(/^catalogue\.yaml:1: not YAML/)
  })

  test('a file that is not there', () => {
    expect(() => loadCatalogue('/nowhere/catalogue.yaml')).toThrow(CatalogueError)
  })
})

function messageOf(text: string): string {
  try {
    parseCatalogue(text, 'catalogue.yaml')
  } catch (error) {
    if (error instanceof CatalogueError) return error.message
    throw error
  }
  return 'no mistake found'
}

describe('[R6.5] a text that is made to hang or to break whoever reads it is no catalogue, and says so', () => {
  const laughs = Array.from({ length: 30 }, (_, at) => {
    const many = Array.from({ length: 10 }, () => `*l${at}`).join(', ')
    return `l${at + 1}: &l${at + 1} [${many}]`
  })
  test.each([
    ['aliases that multiply each other', ['l0: &l0 ha', ...laughs].join('\n'), 'alias'],
    ['a thing that holds itself', `regions: &all\n  - *all\n${source.replace('regions:', 'others:')}`, ''],
    ['lists in lists', `a: ${'['.repeat(20_000)}`, ''],
    ['more than a catalogue ever has', `${source}\n${'# and more\n'.repeat(400_000)}`, 'longer than'],
  ])('%s', (_, text, words) => {
    const read = () => parseCatalogue(text, 'catalogue.yaml')
    expect(read).toThrow(CatalogueError)
    expect(read).toThrow(words)
  })
})
