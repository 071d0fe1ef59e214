import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { dirname } from 'node:path'
import { REFERRAL_DEFAULTS } from '@berth/contract/limits'
import { MICRO_PER_CENT } from '@berth/contract/money'
import { isNode, LineCounter, parseDocument } from 'yaml'
import * as z from 'zod'
import { readBrandFiles } from './brand-files.ts'
import { brands, checkBrandHosts } from './brands.ts'
import { foundModels, hostedModel, MODELS_MAX } from './catalogue-models.ts'
import { type CatalogueWords, catalogueText, collectWords, customerText } from './catalogue-words.ts'
import { price } from './price.ts'
import { termDiscounts, termPriceTrouble } from './term-prices.ts'

/** A mistake in the catalogue: the message names file, line and field. */
export class CatalogueError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CatalogueError'
  }
}

const id = z
  .string()
  .regex(/^[a-z0-9][a-z0-9.-]{0,62}$/, 'must be lower-case letters, digits, dots and hyphens, at most 63')
const text = catalogueText
const port = z.number().int().min(1).max(65_535)

/** What a GB of network volume costs a day where a catalogue of before does not say it: 0.0016. */
const VOLUME_MICRO_PER_GB_DAY = 1_600n

/** What a GB of a customer's image costs a day where the catalogue does not say it: 0.0017. */
const IMAGE_MICRO_PER_GB_DAY = 1_700n

/** The engines that make a region's machines where it names none: whatever the gateway's computer has. */
const ENGINES_DEFAULT = [{ driver: 'auto' }]
/** What a public IP costs by the hour where the catalogue says nothing. */
const PUBLIC_IP_HOUR_MICRO = 5_000n
/** The one that ships has some 20,000; gateways keep the text of each that is applied. */
const CHARS_MAX = 4_000_000
const ENGINES_MAX = 100
/** A choice that takes longer than a quarter would meet the next one; an account that is frozen for longer is of no use. */
const REFERRAL_CHOICE_DAYS_MAX = 80
const REFERRAL_FROZEN_HOURS_MAX = 30 * 24
const REGISTRIES_MAX = 100
/** Public IPs of a region: each is tried at every start of a gateway. */
const PUBLIC_IPS_MAX = 256

/** Checks of what the catalogue says to drivers, handed in by who knows the drivers. */
export interface DriverChecks {
  /** How an engine is described: an object that names its driver. */
  engine: z.ZodType<{ driver: string }>
  /** What is wrong with drivers' parts of an image's recipe, by the name of the part. */
  recipe(parts: Record<string, unknown>): { part: string; why: string }[]
  /** What is said of a registry: an object that names its host. */
  registry: z.ZodType<{ host: string }>
}

const UNCHECKED: DriverChecks = {
  engine: z.looseObject({ driver: text }),
  recipe: () => [],
  registry: z.looseObject({ host: text }),
}

const ipAddress = z.string().refine(value => isIP(value) !== 0, 'must be an IP address, such as 203.0.113.20')

/** An address that a region gives to one instance at a time, and the one of a gateway's computer that it leads to. */
const publicIp = z
  .union([ipAddress, z.strictObject({ address: ipAddress, listen: ipAddress.optional() })])
  .transform(value => {
    const { address, listen = address } =
      typeof value === 'string' ? { address: value, listen: value } : value
    return { address, listen }
  })

function regionOf({ engine }: DriverChecks) {
  return z
    .strictObject({
      code: id,
      name: customerText,
      enabled: z.boolean(),
      engines: z.array(engine).min(1).max(ENGINES_MAX).default(ENGINES_DEFAULT),
      public_ips: z.array(publicIp).max(PUBLIC_IPS_MAX).default([]),
      /** What a GB that a machine sends costs; left out: nothing, and what they send is not counted. */
      traffic_gb: price.default(0n),
    })
    .transform(({ traffic_gb, ...region }) => ({ ...region, traffic_micro_per_gb: traffic_gb }))
}

const gpuSpec = z
  .strictObject({
    id,
    name: customerText,
    /** What the vendor's tools call it: a real GPU of that name is rented as this spec. */
    vendor_names: z.array(text).default([]),
    gpu: z.boolean(),
    vram_gb: z.number().int().min(0),
    vcpu: z.number().int().min(1),
    memory_gb: z.number().int().min(1),
    price_per_hour: price,
    /** For a term paid in advance; left out: its hours, less the discount that stands under `prices`. */
    price_per_week: price.optional(),
    price_per_month: price.optional(),
    counts: z.array(z.number().int().min(1).max(8)).min(1),
    /** What each region has; a region that is not named does not offer it. */
    stock: z.record(id, z.number().int().min(0).max(100_000)),
  })
  .transform(({ price_per_hour, price_per_week, price_per_month, ...spec }) => ({
    ...spec,
    price_micro_per_hour: price_per_hour,
    term_prices_micro: {
      ...(price_per_week !== undefined && { weekly: price_per_week }),
      ...(price_per_month !== undefined && { monthly: price_per_month }),
    },
  }))
  .superRefine((spec, context) => {
    const fields = { weekly: 'price_per_week', monthly: 'price_per_month' } as const
    for (const cycle of ['weekly', 'monthly'] as const) {
      const message = termPriceTrouble(spec, cycle)
      if (message) context.addIssue({ code: 'custom', path: [fields[cycle]], message })
    }
  })

/** Bounds of what an operator may promise for outages. */
const SLA_MINUTES_MAX = 24 * 60
const SLA_PERCENT_MAX = 1_000
const SLA_HOURS_MAX = 30 * 24
const CHECK_IN_DAYS_MAX = 365

const imageFields = {
  id,
  /** What machines are made of it: containers and sandboxes, or virtual machines. */
  kind: z.enum(['POD', 'VM']).default('POD'),
  name: customerText,
  description: customerText,
  version_info: customerText,
  size_mb: z.number().int().min(1),
  tags: z.array(text),
  http_ports: z.array(port).max(10),
  tcp_ports: z.array(port).max(10),
  min_vram_gb: z.number().int().min(0),
}

/** Fields that are not the image's own are drivers' parts of its recipe, by the drivers' names. */
function imageOf({ recipe }: DriverChecks) {
  const own = z.object(imageFields)
  return z.looseObject(imageFields).transform((value, context) => {
    const parts = Object.fromEntries(Object.entries(value).filter(([key]) => !(key in imageFields)))
    if (Object.keys(parts).length === 0) {
      context.addIssue({ code: 'custom', message: 'needs a part that says to a driver how it is made' })
    }
    for (const { part, why } of recipe(parts)) {
      context.addIssue({ code: 'custom', path: [part], message: why })
    }
    return { ...own.parse(value), recipe: parts }
  })
}

/** A rate in percent, with two decimals at most, as hundredths of a percent. */
const rate = z
  .number()
  .min(0)
  .max(100)
  .refine(value => Math.abs(value * 100 - Math.round(value * 100)) < 1e-6, 'has two decimals at most')
  .transform(value => Math.round(value * 100))

/** What referring earns and how it is settled (R9.7), in the currency of whoever gets it; what is left out is as the seed says. */
const referralTerms = z
  .strictObject({
    reward: price.default(BigInt(REFERRAL_DEFAULTS.reward) * MICRO_PER_CENT),
    friend_reward: price.default(BigInt(REFERRAL_DEFAULTS.friendReward) * MICRO_PER_CENT),
    first_topup: price.default(BigInt(REFERRAL_DEFAULTS.firstTopup) * MICRO_PER_CENT),
    rebate_percent: rate.default(REFERRAL_DEFAULTS.rebateRate * 100),
    threshold: price.default(BigInt(REFERRAL_DEFAULTS.threshold) * MICRO_PER_CENT),
    cash_fee_percent: rate.default(REFERRAL_DEFAULTS.cashFeeRate * 100),
    choice_days: z.number().int().min(1).max(REFERRAL_CHOICE_DAYS_MAX).default(REFERRAL_DEFAULTS.choiceDays),
    paypal_frozen_hours: z
      .number()
      .int()
      .min(1)
      .max(REFERRAL_FROZEN_HOURS_MAX)
      .default(REFERRAL_DEFAULTS.paypalFrozenHours),
  })
  .prefault({})
  .transform(terms => ({
    rewardMicro: terms.reward,
    friendRewardMicro: terms.friend_reward,
    firstTopupMicro: terms.first_topup,
    rebateHundredths: terms.rebate_percent,
    thresholdMicro: terms.threshold,
    cashFeeHundredths: terms.cash_fee_percent,
    choiceDays: terms.choice_days,
    paypalFrozenHours: terms.paypal_frozen_hours,
  }))
  .refine(
    terms =>
      [terms.rewardMicro, terms.friendRewardMicro, terms.firstTopupMicro, terms.thresholdMicro].every(
        micro => micro % MICRO_PER_CENT === 0n,
      ),
    'has amounts in whole cents',
  )

const catalogueOf = (checks: DriverChecks) =>
  z
    .strictObject({
      brands,
      prices: z
        .strictObject({
          disk_gb_hour: price,
          volume_gb_day: price.default(VOLUME_MICRO_PER_GB_DAY),
          /** Left out: that of a volume. */
          snapshot_gb_day: price.optional(),
          image_gb_day: price.default(IMAGE_MICRO_PER_GB_DAY),
          unlisted_gpu_hour: price,
          public_ip_hour: price.default(PUBLIC_IP_HOUR_MICRO),
          term_discount_percent: termDiscounts,
        })
        .transform(prices => ({
          disk_micro_per_gb_hour: prices.disk_gb_hour,
          volume_micro_per_gb_day: prices.volume_gb_day,
          snapshot_micro_per_gb_day: prices.snapshot_gb_day ?? prices.volume_gb_day,
          image_micro_per_gb_day: prices.image_gb_day,
          unlisted_gpu_micro_per_hour: prices.unlisted_gpu_hour,
          public_ip_micro_per_hour: prices.public_ip_hour,
          term_discount_percent: prices.term_discount_percent,
        })),
      /** When the platform is at fault for longer than that, customers get credits (B17); left out: none are given. */
      sla: z
        .strictObject({
          after_minutes: z.number().int().min(1).max(SLA_MINUTES_MAX),
          /** Of what the machine costs in the time that it was out. */
          percent: z.number().int().min(1).max(SLA_PERCENT_MAX).default(100),
          /** What is longer counts as if it were as long as that. */
          hours_max: z.number().int().min(1).max(SLA_HOURS_MAX).default(24),
        })
        .optional(),
      /** Free credit for models that customers take once a day (R1.5); left out: there is none. */
      check_in: z
        .strictObject({ amount: price, credit_days: z.number().int().min(1).max(CHECK_IN_DAYS_MAX) })
        .transform(({ amount, credit_days }) => ({ amount_micro: amount, credit_days }))
        .refine(({ amount_micro }) => amount_micro > 0n, 'is more than nothing')
        .optional(),
      referral: referralTerms,
      regions: z.array(regionOf(checks)).min(1),
      gpu_specs: z.array(gpuSpec).min(1),
      images: z.array(imageOf(checks)).min(1),
      models: z.array(hostedModel).max(MODELS_MAX).default([]),
      /** Left out: none are looked for. */
      found_models: foundModels.optional(),
      registries: z.array(checks.registry).max(REGISTRIES_MAX).default([]),
    })
    .superRefine((value, context) => {
      refuseRepeats(value.regions, 'code', 'regions', context)
      refuseRepeats(value.gpu_specs, 'id', 'gpu_specs', context)
      refuseRepeats(value.images, 'id', 'images', context)
      refuseRepeats(value.models, 'id', 'models', context)
      refuseRepeats(value.registries, 'host', 'registries', context)
      refuseSharedIps(value.regions, context)
      const codes = new Set(value.regions.map(({ code }) => code))
      value.gpu_specs.forEach((spec, index) => {
        for (const code of Object.keys(spec.stock)) {
          if (!codes.has(code)) {
            context.addIssue({
              code: 'custom',
              path: ['gpu_specs', index, 'stock', code],
              message: `names a region that is not in \`regions\`: ${code}`,
            })
          }
        }
      })
    })

export type Catalogue = z.output<ReturnType<typeof catalogueOf>> & {
  /** What its texts are in other languages than English. */
  words: CatalogueWords
  /** The text that it was read from. */
  source: string
}
export type CatalogueSpec = Catalogue['gpu_specs'][number]
export type CatalogueModel = Catalogue['models'][number]
export type CatalogueImage = Catalogue['images'][number]

/**
 * Reads and checks the catalogue, and the images of its brands.
 * @param file Path of the YAML file.
 * @param serviceHost The domain of instances' own names, below which no brand may stand.
 * @param checks How drivers check what is said to them; without them that is taken as it is.
 * @throws CatalogueError that names file, line and field of every mistake.
 */
export function loadCatalogue(file: string, serviceHost = 'localhost', checks = UNCHECKED): Catalogue {
  let source: string
  try {
    source = readFileSync(file, 'utf8')
  } catch (cause) {
    throw new CatalogueError(
      `${file}: cannot be read (${(cause as NodeJS.ErrnoException).code ?? 'unknown'})`,
    )
  }
  const parsed = parseCatalogue(source, file, checks)
  try {
    checkBrandHosts(parsed.brands, serviceHost)
    return { ...parsed, brands: readBrandFiles(parsed.brands, dirname(file)) }
  } catch (error) {
    throw new CatalogueError(`${file}: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/**
 * Checks a catalogue's text.
 * @param source YAML.
 * @param file Its name, for messages.
 * @throws CatalogueError that names file, line and field of every mistake.
 */
export function parseCatalogue(source: string, file: string, checks = UNCHECKED): Catalogue {
  if (source.length > CHARS_MAX) throw new CatalogueError(`${file}: is longer than ${CHARS_MAX} characters`)
  const lines = new LineCounter()
  const document = inWords(file, () => parseDocument(source, { lineCounter: lines, prettyErrors: false }))
  const broken = document.errors.map(
    error => `${file}:${lines.linePos(error.pos[0]).line}: not YAML: ${error.message}`,
  )
  if (broken.length > 0) throw new CatalogueError(broken.join('\n'))
  const written: unknown = inWords(file, () => document.toJS())
  const result = catalogueOf(checks).safeParse(written)
  if (result.success) {
    const { words, torn } = collectWords(written)
    if (torn.length > 0) {
      throw new CatalogueError(`${file}: is translated in two ways: ${[...new Set(torn)].join(', ')}`)
    }
    return { ...result.data, words, source }
  }
  const lineOf = (path: PropertyKey[]): number => {
    // The field itself may be missing: then its nearest parent says where to look.
    for (let length = path.length; length >= 0; length -= 1) {
      const node = document.getIn(path.slice(0, length), true)
      if (isNode(node) && node.range) return lines.linePos(node.range[0]).line
    }
    return 1
  }
  throw new CatalogueError(
    result.error.issues
      .map(
        issue =>
          `${file}:${lineOf(issue.path)}: ${issue.path.join('.') || 'the catalogue'}: ${issue.message}`,
      )
      .join('\n'),
  )
}

/** What the reader of YAML gives up on: aliases that multiply each other, and lists in lists without an end. */
function inWords<Read>(file: string, read: () => Read): Read {
  try {
    return read()
  } catch (cause) {
    throw new CatalogueError(`${file}: not YAML: ${cause instanceof Error ? cause.message : 'unknown'}`, {
      cause,
    })
  }
}

/** An address is one instance's, so it stands in one place, under either of its names. */
function refuseSharedIps(
  regions: { public_ips: { address: string; listen: string }[] }[],
  context: z.RefinementCtx,
): void {
  const seen = { address: new Set<string>(), listen: new Set<string>() }
  regions.forEach(({ public_ips }, region) => {
    public_ips.forEach((ip, index) => {
      for (const key of ['address', 'listen'] as const) {
        if (seen[key].has(ip[key])) {
          const path = ['regions', region, 'public_ips', index]
          context.addIssue({ code: 'custom', path, message: `is there twice: ${ip[key]}` })
        }
        seen[key].add(ip[key])
      }
    })
  })
}

function refuseRepeats<Key extends string>(
  list: Record<Key, string>[],
  key: Key,
  name: string,
  context: z.RefinementCtx,
): void {
  const seen = new Set<string>()
  list.forEach((item, index) => {
    if (seen.has(item[key])) {
      context.addIssue({ code: 'custom', path: [name, index, key], message: `is there twice: ${item[key]}` })
    }
    seen.add(item[key])
  })
}
