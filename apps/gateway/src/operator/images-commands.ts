import { coverUrlOf } from '@berth/contract/covers'
import type { ImageReport, Images, ReportedImage, Reviewed } from '../domains/images/images.ts'
import type { ImagesCommand } from './read-command.ts'

const BYTES_PER_MB = 1_048_576
/** The column of names. */
const NAME_CHARS = 20

/** What a command answers: for programs, and for people. */
interface Answer {
  data: unknown
  text: string
}

/** Does what an operator asked for. @throws ApiError `not_found`, `image_state` or `image_changed`. */
export async function runImages(
  { review, reports }: Pick<Images, 'review' | 'reports'>,
  command: ImagesCommand,
): Promise<Answer> {
  switch (command.act) {
    case 'reports': {
      const reported = await reports.reported()
      const text = reported.length === 0 ? 'Nothing is reported.\n' : reported.map(lineOfReported).join('')
      return { data: reported.map(wireOfReported), text }
    }
    case 'show-reports': {
      const said = await reports.of(command.id)
      const text = said.length === 0 ? 'Nothing is said of it.\n' : said.map(textOfReport).join('\n')
      return { data: said.map(({ at, ...one }) => ({ ...one, at: at.toISOString() })), text }
    }
    case 'close-reports': {
      const closed = await reports.close(command.id)
      return { data: { id: command.id, closed }, text: `${closed} reports of ${command.id} are forgotten.\n` }
    }
    case 'queue': {
      const waiting = await review.queue()
      const text = waiting.length === 0 ? 'Nothing waits for an answer.\n' : waiting.map(lineOf).join('')
      return { data: waiting.map(wireOf), text }
    }
    case 'show': {
      const image = await review.show(command.id)
      return { data: wireOf(image), text: pageOf(image) }
    }
    case 'approve': {
      const image = await review.approve(command.id, command.seen)
      const text = `${image.id} “${image.name}” is the community's now, as ${image.communityId}.\n`
      return { data: wireOf(image), text }
    }
    case 'reject': {
      const image = await review.reject(command.id, command.reason)
      return {
        data: wireOf(image),
        text: `${image.id} “${image.name}” is refused; its customer is told why.\n`,
      }
    }
    case 'take-down': {
      const image = await review.takeDown(command.id, command.reason)
      return { data: image, text: `${image.id} “${image.name}” is taken off the community.\n` }
    }
  }
}

/** As the gateway spells names. */
function wireOf(image: Reviewed) {
  return {
    id: image.id,
    status: image.status,
    version: image.number,
    name: image.name,
    description: image.description,
    author: image.author,
    author_id: image.userId,
    kind: image.kind,
    tags: image.tags,
    region_code: image.regionCode,
    version_info: image.versionInfo,
    preloaded_models: image.preloadedModels,
    start_command: image.startCommand,
    http_ports: image.httpPorts,
    tcp_ports: image.tcpPorts,
    min_vram_gb: image.minVramGb,
    cover_url: image.cover === null ? null : coverUrlOf(image.cover),
    size: Math.ceil(image.sizeBytes / BYTES_PER_MB),
    digest: image.digest,
    seen: image.seen,
    image_reference: image.sourceReference,
    community_image_id: image.communityId,
    review_since: image.reviewSince?.toISOString() ?? null,
    review_by: image.reviewBy?.toISOString() ?? null,
    readme: image.readme,
  }
}

const day = (at: Date | null) => at?.toISOString().slice(0, 10) ?? ''

function lineOf(image: Reviewed): string {
  const about = `version ${image.number}, sent ${day(image.reviewSince)}, answer by ${day(image.reviewBy)}`
  return `${image.id}  ${plain(image.name)}  by ${plain(image.author ?? '(gone)')}  ${about}\n`
}

const wireOfReported = ({ since, ...one }: ReportedImage) => ({ ...one, since: since.toISOString() })

function lineOfReported({ id, name, author, reports, since }: ReportedImage): string {
  return `${id}  ${plain(name)}  by ${plain(author ?? '(gone)')}  accounts ${reports}, since ${day(since)}\n`
}

const textOfReport = ({ kind, text, at }: ImageReport) => `${day(at)}  ${kind}\n${plain(text)}\n`

function pageOf(image: Reviewed): string {
  const { readme, ...facts } = wireOf(image)
  const lines = Object.entries(facts).map(([name, value]) => {
    const text = plain(Array.isArray(value) ? value.join(', ') : String(value ?? ''))
    // A description of several lines is not to look like facts of ours.
    return `${name.padEnd(NAME_CHARS)} ${text.replaceAll('\n', `\n${' '.repeat(NAME_CHARS + 1)}`)}`
  })
  return `${lines.join('\n')}\n\n${plain(readme)}\n`
}

/** What customers wrote, without what a terminal would obey. */
function plain(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, char => (char === '\n' ? char : ''))
}
