import type { Language } from '@berth/contract/limits'
import * as z from 'zod'
import { accent } from './accent.ts'

/** Host of the brand that every other host shows. */
const DEFAULT_HOST = 'default'
const HOST = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?(:\d{1,5})?$/
const LOCAL_NAME = /^(localhost|127\.0\.0\.1|[a-z0-9.-]+\.localhost)$/

const text = z.string().min(1, 'must not be empty').max(500)

/** An address on another origin. What may stand in a content policy must not be able to end a directive. */
const url = z
  .string()
  .max(500)
  .refine(isWebAddress, 'must be an address such as https://cdn.example.com/x; http only at localhost')
const urlOrPath = z
  .string()
  .max(500)
  .refine(
    value => /^\/(?!\/)[^\s"<>\\]*$/.test(value) || isWebAddress(value),
    'must be a path of this gateway such as /gateway/docs, or an address such as https://docs.example.com',
  )

/** An image: an address, or a file beside the catalogue, which `loadCatalogue` reads. */
const image = z
  .string()
  .max(500)
  .refine(
    value => isWebAddress(value) || /^(?!.*\.\.)[a-z0-9][a-z0-9._/-]*\.(svg|png|webp)$/i.test(value),
    'must be an address such as https://cdn.example.com/logo.svg, or an svg, png or webp file beside the catalogue',
  )
  .transform((value): BrandImage => ({ url: value, file: null }))

/** A text beside the catalogue, which `loadCatalogue` reads. */
const markdownFile = z
  .string()
  .max(500)
  .regex(/^(?!.*\.\.)[a-z0-9][a-z0-9._/-]*\.md$/i, 'must be an md file beside the catalogue')

/** Where the console shows the terms that stand in files. */
const TERMS_PAGE = '/terms'

const terms = z
  .union(
    [
      markdownFile.transform(en => ({ url: TERMS_PAGE, files: { en } })),
      z
        .strictObject({
          en: markdownFile,
          zh: markdownFile.optional(),
          ja: markdownFile.optional(),
          ko: markdownFile.optional(),
        })
        .transform(files => ({ url: TERMS_PAGE, files })),
      urlOrPath.transform(url => ({ url, files: null })),
    ],
    'must be an md file beside the catalogue, a map of such files by language with `en` among them, or an address such as https://example.com/terms',
  )
  .optional()
  .transform((value): BrandTerms => ({ ...(value ?? { url: TERMS_PAGE, files: 'shipped' }), html: null }))

const analytics = z.strictObject({
  script_url: url,
  /** For the script element: what such a script reads its own settings from. */
  attributes: z
    .record(
      z.string().regex(/^data-[a-z0-9-]{1,60}$/, 'must be the name of a data attribute, such as data-site'),
      text,
    )
    .default({}),
  /** Where it sends to, if not to where it came from. */
  connect_urls: z.array(url).max(10).default([]),
})

/** What a deployment host selects (R1.10). */
export const brand = z
  .strictObject({
    /** Hosts that show this brand, with a port or without; `default` serves all others. */
    hosts: z
      .array(z.string().regex(HOST, 'must be a host such as console.example.com, in lower case'))
      .min(1),
    name: z.string().min(1, 'must not be empty').max(60),
    docs_url: urlOrPath,
    /** Where images of the community are kept. */
    image_storage_url: url.nullable().default(null),
    /** A square mark, beside which the name stands. */
    logo: z.strictObject({ light: image, dark: image }).nullable().default(null),
    /** What one agrees to at sign-up. */
    terms,
    accent: accent.nullable().default(null),
    /** Who makes invoices out. */
    legal: z
      .strictObject({
        name: z.string().min(1, 'must not be empty').max(120),
        address: z.string().max(400).default(''),
        tax_id: z.string().max(40).default(''),
      })
      .nullable()
      .default(null),
    /** These hosts are the production: only there are analytics loaded. */
    production: z.boolean().default(false),
    analytics: analytics.nullable().default(null),
  })
  .refine(value => !(value.production && value.hosts.includes(DEFAULT_HOST)), {
    path: ['production'],
    message: 'needs hosts by name: `default` stands for any host, a test one too',
  })

export type Brand = z.output<typeof brand>

/** Where an image of a brand is found, and what the gateway answers there if it is a file of its own. */
export interface BrandImage {
  url: string
  file: { type: string; bytes: Uint8Array } | null
}

/** The terms that one agrees to at sign-up. */
export interface BrandTerms {
  /** Where they are read. */
  url: string
  /** Markdown files beside the catalogue by language, or those that come with the gateway; null where `url` leads elsewhere. */
  files: ({ en: string } & { [Other in Language]?: string | undefined }) | 'shipped' | null
  /** HTML by language, once the files are read. */
  html: Readonly<Record<Language, string>> | null
}

/** The brands of a catalogue: each host once, and one brand for all others. */
export const brands = z
  .array(brand)
  .min(1)
  .superRefine((list, context) => {
    const seen = new Set<string>()
    list.forEach(({ hosts }, index) => {
      hosts.forEach((host, at) => {
        if (seen.has(host)) {
          context.addIssue({ code: 'custom', path: [index, 'hosts', at], message: `is there twice: ${host}` })
        }
        seen.add(host)
      })
    })
    if (!seen.has(DEFAULT_HOST)) {
      context.addIssue({ code: 'custom', message: 'needs one brand with the host `default`' })
    }
  })

/**
 * The brand of a host (R1.10): one that names the host, with or without its port, else the default one.
 * @param list The catalogue's brands.
 * @param host As in a Host header.
 */
export function findBrand(list: readonly Brand[], host: string): Brand {
  const wanted = host.toLowerCase()
  const name = wanted.replace(/:\d+$/, '')
  const found =
    list.find(({ hosts }) => hosts.includes(wanted)) ??
    list.find(({ hosts }) => hosts.includes(name)) ??
    list.find(({ hosts }) => hosts.includes(DEFAULT_HOST))
  if (!found) throw new Error('the catalogue has no brand for the host `default`')
  return found
}

/** Whose name stands on invoices: the brand's company, or where the catalogue names none the brand's own name. */
export function sellerOf({ name, legal }: Pick<Brand, 'name' | 'legal'>) {
  return legal ?? { name, address: '', tax_id: '' }
}

/**
 * The host names that brands are shown at, without ports: the console answers to them.
 * @param list The catalogue's brands.
 */
export function brandHostNames(list: readonly Brand[]): string[] {
  return list.flatMap(({ hosts }) =>
    hosts.filter(host => host !== DEFAULT_HOST).map(host => host.replace(/:\d+$/, '')),
  )
}

/**
 * Checks that no brand is shown where host names belong to instances: its page would share a site with theirs. Below
 * `localhost` both may stand, for one machine has no other names.
 * @param list The catalogue's brands.
 * @param serviceHost The domain below which instances have their names.
 * @throws Error that names the host.
 */
export function checkBrandHosts(list: readonly Brand[], serviceHost: string): void {
  if (serviceHost === 'localhost') return
  const wrong = brandHostNames(list).find(name => name === serviceHost || name.endsWith(`.${serviceHost}`))
  if (wrong === undefined) return
  throw new Error(
    `brands: the host ${wrong} must not lie below BERTH_SERVICE_HOST (${serviceHost}): names there belong to instances`,
  )
}

/**
 * The analytics that a brand's pages load: none but on the production host (R1.10).
 * @param selected The brand of the host.
 */
export function analyticsOf(selected: Brand): Brand['analytics'] {
  return selected.production ? selected.analytics : null
}

function isWebAddress(value: string): boolean {
  const parsed = URL.parse(value)
  if (parsed === null || /[\s"<>\\]/.test(value) || !HOST.test(parsed.host)) return false
  if (parsed.username !== '' || parsed.password !== '') return false
  return parsed.protocol === 'https:' || (parsed.protocol === 'http:' && LOCAL_NAME.test(parsed.hostname))
}
