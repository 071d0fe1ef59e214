import type { Image } from '@berth/contract/images'
import type { CommunitySearch, ImageSort } from './search.ts'

/** What an address and a search field narrow the images to. */
type Narrowed = Pick<CommunitySearch, 'vram' | 'tag' | 'sort'>

/** A tag, and how many images that are narrowed otherwise have it. */
export interface TagCount {
  tag: string
  count: number
}

/**
 * The images that are found, in order, and the tags that they could be narrowed by.
 * @param images Those of the region.
 * @param typed What is searched for: every word of it stands in the name, the author, the description or a tag.
 * @param wordOf A tag as the customer reads it, which is found too.
 */
export function foundImages(
  images: readonly Image[],
  typed: string,
  { vram, tag, sort }: Narrowed,
  wordOf: (tag: string) => string,
): { rows: Image[]; total: number; tags: TagCount[] } {
  const words = plain(typed).split(/\s+/).filter(Boolean)
  const textOf = ({ name, author, description, tags }: Image) =>
    plain([name, author ?? '', description, ...tags, ...tags.map(wordOf)].join(' '))
  const found = images.filter(image => {
    if (vram !== '' && image.min_vram_gb > Number(vram)) return false
    if (words.length === 0) return true
    const text = textOf(image)
    return words.every(word => text.includes(word))
  })
  const counts = new Map<string, number>()
  for (const one of found.flatMap(({ tags }) => tags)) counts.set(one, (counts.get(one) ?? 0) + 1)
  // What is chosen stays in sight, so that it can be given up.
  if (tag !== '' && !counts.has(tag)) counts.set(tag, 0)
  return {
    rows: found.filter(({ tags }) => tag === '' || tags.includes(tag)).toSorted(ORDERS[sort]),
    total: found.length,
    tags: [...counts]
      .map(([name, count]) => ({ tag: name, count }))
      .sort((one, other) => other.count - one.count || one.tag.localeCompare(other.tag)),
  }
}

const byName = (one: Image, other: Image) => one.name.localeCompare(other.name)
const ORDERS: Record<ImageSort, (one: Image, other: Image) => number> = {
  deploys: (one, other) => other.deploys - one.deploys || byName(one, other),
  stars: (one, other) => other.stars - one.stars || byName(one, other),
  newest: (one, other) => (other.updated_at ?? '').localeCompare(one.updated_at ?? '') || byName(one, other),
}

function plain(text: string): string {
  return text.normalize('NFKC').toLowerCase().trim()
}
