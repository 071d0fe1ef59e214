import { XMLBuilder, XMLParser, XMLValidator } from 'fast-xml-parser'
import * as z from 'zod'
import { S3Error } from '../s3-error.ts'
import { S3_LIMITS } from '../s3-limits.ts'

const NAMESPACE = 'http://s3.amazonaws.com/doc/2006-03-01/'

/** Elements by their names; a list is an element that comes several times, null one that does not come. */
export interface XmlParts {
  [name: string]: XmlValue
}
export type XmlValue = string | number | boolean | null | undefined | XmlParts | readonly XmlParts[]

const builder = new XMLBuilder({
  ignoreAttributes: false,
  attributeNamePrefix: '@',
  suppressEmptyNode: false,
  processEntities: true,
})

/** What XML 1.0 cannot say in any way. A list in which a name may have it is asked for with `encoding-type=url`. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const UNSAYABLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g

/** An answer of S3's, as a document. @param root Its element; an error has no namespace. */
export function writeXml(root: string, parts: XmlParts): string {
  const attributes = root === 'Error' ? {} : { '@xmlns': NAMESPACE }
  const body = builder.build({ [root]: { ...attributes, ...(sayable(parts) as XmlParts) } })
  return `<?xml version="1.0" encoding="UTF-8"?>\n${body.replaceAll('\r', '&#13;')}`
}

/** Whether a document can say a text as it is. */
export const isSayable = (text: string): boolean => text.replaceAll(UNSAYABLE, '') === text

function sayable(value: XmlValue): XmlValue {
  if (typeof value === 'string') return value.replaceAll(UNSAYABLE, '\ufffd')
  if (Array.isArray(value)) return value.map(each => sayable(each) as XmlParts)
  if (value === null || typeof value !== 'object') return value
  const kept = Object.entries(value as XmlParts).filter(([, each]) => each !== undefined && each !== null)
  return Object.fromEntries(kept.map(([name, each]) => [name, sayable(each)]))
}

const ALWAYS_LISTS = new Set(['Delete.Object', 'CompleteMultipartUpload.Part'])
const parser = new XMLParser({
  ignoreAttributes: true,
  parseTagValue: false,
  trimValues: false,
  processEntities: true,
  // Numbers of characters are read with those names alone.
  htmlEntities: true,
  removeNSPrefix: true,
  isArray: (_, path) => ALWAYS_LISTS.has(String(path)),
})

const text = z.string()
const objects = z.array(z.object({ Key: text, ETag: text.optional(), VersionId: text.optional() }))
export const deleteXml = z.object({
  Delete: z.object({ Quiet: text.optional(), Object: objects.min(1).max(S3_LIMITS.deleteKeysMax) }),
})
const part = z.object({
  PartNumber: z
    .string()
    .trim()
    .regex(/^\d{1,5}$/),
  ETag: text,
  ChecksumCRC32: text.optional(),
  ChecksumCRC32C: text.optional(),
  ChecksumCRC64NVME: text.optional(),
  ChecksumSHA1: text.optional(),
  ChecksumSHA256: text.optional(),
})
export const completeXml = z.object({
  CompleteMultipartUpload: z.object({ Part: z.array(part).min(1).max(S3_LIMITS.partsMax) }),
})

/**
 * Reads a document that a client sent. It may have no definitions of its own, which is how small ones become large.
 * @throws S3Error `MalformedXML`.
 */
export function readXml<Shape extends z.ZodType>(document: string, shape: Shape): z.infer<Shape> {
  if (/<!(DOCTYPE|ENTITY)/i.test(document) || !isPlain(document)) throw new S3Error('MalformedXML')
  if (XMLValidator.validate(document) !== true) throw new S3Error('MalformedXML')
  try {
    return shape.parse(parser.parse(document))
  } catch (error) {
    throw new S3Error('MalformedXML', { cause: error })
  }
}

/** Whether a document has no more tags and attributes than S3's may have: each is work that holds everybody else up. */
function isPlain(document: string): boolean {
  let tags = 0
  let attributes = 0
  let isInTag = false
  for (let at = 0; at < document.length; at += 1) {
    const character = document.charCodeAt(at)
    if (character === TAG_BEGIN) {
      tags += 1
      isInTag = true
    } else if (character === TAG_END) isInTag = false
    else if (character === EQUALS && isInTag) attributes += 1
  }
  return tags <= S3_LIMITS.xmlTagsMax && attributes <= S3_LIMITS.xmlAttributesMax
}

const [TAG_BEGIN, TAG_END, EQUALS] = [60, 62, 61]
