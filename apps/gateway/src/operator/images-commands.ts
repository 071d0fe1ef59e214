import { coverUrlOf } from '@berth/contract/covers'
import type { ImageReport, ReportedImage, Reviewed } from '../domains/images/images.ts'
import { ApiError } from '../platform/http/api-error.ts'
import { NotFound, Refused } from './line/answer.ts'
import { changing, looking, required } from './line/command.ts'
import { counted, day, fromNow } from './line/said.ts'
import { type Column, table } from './line/table.ts'
import { sentence, word } from './line/values.ts'

const BYTES_PER_MB = 1_048_576
/** The column of names. */
const NAME_CHARS = 20
const REASON_CHARS_MAX = 500

const id = required(word('<id>'), 'The image’s id', 'Which image? Its id is missing.')
const ofCommunity = required(
  word('<id>'),
  'The id that the community has of it',
  'Which image? The community’s id of it is missing.',
)
const SAY_WHY = 'Say why with --reason: its customer reads it.'
const reason = required(sentence(REASON_CHARS_MAX, SAY_WHY), 'Why; its customer reads it', SAY_WHY)

/** What customers publish, and what others report of it (R4.8, R6.5). */
export const imagesCommands = [
  looking({
    noun: 'images',
    verb: 'queue',
    summary: 'Images that wait for an answer, the oldest first',
    arguments: {},
    options: {},
    examples: [['images queue', 'what waits, and until when']],
    async run({ clock, columns, installation }) {
      const waiting = await (await installation()).images.review.queue()
      const shape = queueColumns(clock.now())
      const text = waiting.length === 0 ? 'Nothing waits for an answer.\n' : table(waiting, shape, columns)
      return { data: waiting.map(wireOf), text }
    },
  }),
  looking({
    noun: 'images',
    verb: 'show',
    summary: 'One of them, with all that was said of it',
    arguments: { id },
    options: {},
    examples: [['images show im-k3v9q2p', 'its facts, its README, and the mark that approve wants']],
    async run({ installation }, given) {
      const image = await asked((await installation()).images.review.show(given.id))
      return { data: wireOf(image), text: pageOf(image) }
    },
  }),
  changing({
    noun: 'images',
    verb: 'approve',
    summary: 'The community gets it, if it is still what was shown with that mark',
    arguments: { id },
    options: {
      seen: required(
        word('<mark>'),
        'The mark that show printed; it changes with the image',
        'Say with --seen what you looked at: show prints it, and it changes with the image.',
      ),
    },
    examples: [['images approve im-k3v9q2p --seen 3f5c…', 'gives the community what you have read']],
    async plan({ installation }, given) {
      const { review } = (await installation()).images
      const image = await asked(review.show(given.id))
      if (image.status !== 'review') throw new Refused(stateWords(image.status))
      if (image.seen !== given.seen) throw new Refused(CHANGED)
      return {
        says: [`The community gets ${image.id} “${image.name}”, version ${image.number}.`],
        data: { id: image.id },
        target: image.id,
        userId: image.userId,
        async act() {
          const done = await asked(review.approve(given.id, given.seen))
          return {
            data: wireOf(done),
            text: `${done.id} “${done.name}” is the community's now, as ${done.communityId}.\n`,
          }
        },
      }
    },
  }),
  changing({
    noun: 'images',
    verb: 'reject',
    summary: 'It stays its customer’s own, who is told why',
    arguments: { id },
    options: { reason },
    examples: [
      ['images reject im-k3v9q2p --reason "README names port 7861; the image opens 7860"', 'refuses it'],
    ],
    async plan({ installation }, given) {
      const { review } = (await installation()).images
      const image = await asked(review.show(given.id))
      if (image.status !== 'review') throw new Refused(stateWords(image.status))
      return {
        says: [`${image.id} “${image.name}” is refused; its customer is told: ${given.reason}`],
        data: { id: image.id },
        target: image.id,
        userId: image.userId,
        async act() {
          const done = await asked(review.reject(given.id, given.reason))
          return {
            data: wireOf(done),
            text: `${done.id} “${done.name}” is refused; its customer is told why.\n`,
          }
        },
      }
    },
  }),
  looking({
    noun: 'images',
    verb: 'reports',
    summary: 'Images of the community that customers reported, those of the most accounts first',
    arguments: {},
    options: {},
    examples: [['images reports', 'what is reported']],
    async run({ columns, installation }) {
      const reported = await (await installation()).images.reports.reported()
      const text = reported.length === 0 ? 'Nothing is reported.\n' : table(reported, REPORT_COLUMNS, columns)
      return { data: reported.map(wireOfReported), text }
    },
  }),
  looking({
    noun: 'images',
    verb: 'show-reports',
    summary: 'What customers said of one',
    arguments: { id: ofCommunity },
    options: {},
    examples: [['images show-reports im-k3v9q2p', 'what they wrote, the oldest first']],
    async run({ installation }, given) {
      const said = await (await installation()).images.reports.of(given.id)
      const text = said.length === 0 ? 'Nothing is said of it.\n' : said.map(textOfReport).join('\n')
      return { data: said.map(({ at, ...one }) => ({ ...one, at: at.toISOString() })), text }
    },
  }),
  changing({
    noun: 'images',
    verb: 'close-reports',
    summary: 'Nothing is wrong with it: what was said is forgotten',
    arguments: { id: ofCommunity },
    options: {},
    examples: [['images close-reports im-k3v9q2p', 'forgets what was said']],
    async plan({ installation }, given) {
      const { reports } = (await installation()).images
      const said = await reports.of(given.id)
      return {
        says: [
          `${counted(said.length, 'report')} of ${given.id} ${said.length === 1 ? 'is' : 'are'} forgotten.`,
        ],
        data: { id: given.id },
        target: given.id,
        async act() {
          const closed = await reports.close(given.id)
          const are = closed === 1 ? 'is' : 'are'
          return {
            data: { id: given.id, closed },
            text: `${counted(closed, 'report')} of ${given.id} ${are} forgotten.\n`,
          }
        },
      }
    },
  }),
  changing({
    noun: 'images',
    verb: 'take-down',
    summary: 'Takes an image off the community, by the community’s id of it',
    details: 'Machines that were made of it go on, and its customer’s own stays.',
    arguments: { id: ofCommunity },
    options: { reason },
    examples: [['images take-down im-k3v9q2p --reason "It mines coins"', 'nobody deploys it any more']],
    async plan({ installation }, given) {
      const { review } = (await installation()).images
      const copy = await asked(review.inCommunity(given.id))
      return {
        says: [`${copy.id} “${copy.name}” is taken off the community; its customer is told: ${given.reason}`],
        data: { id: copy.id },
        target: copy.id,
        ...(copy.authorId === null ? {} : { userId: copy.authorId }),
        async act() {
          const image = await asked(review.takeDown(given.id, given.reason))
          return { data: image, text: `${image.id} “${image.name}” is taken off the community.\n` }
        },
      }
    },
  }),
]

const stateWords = (status: unknown) => `The image is ${status}: that cannot be done with it now.`
const CHANGED =
  'The image is not what that --seen stands for: its customer has changed it. Show it, and look again.'

/** The domain's refusals in words for operators. */
async function asked<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (error.code === 'not_found') throw new NotFound('There is no such image.')
    if (error.code === 'image_state') throw new Refused(stateWords(error.values?.status))
    if (error.code === 'image_changed') throw new Refused(CHANGED)
    throw error
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
    version_of: image.versionOf,
    review_since: image.reviewSince?.toISOString() ?? null,
    review_by: image.reviewBy?.toISOString() ?? null,
    readme: image.readme,
  }
}

const GONE = '(gone)'

function queueColumns(now: Date): Column<Reviewed>[] {
  return [
    { title: 'ID', of: image => image.id },
    { title: 'NAME', of: image => image.name },
    { title: 'BY', of: image => image.author ?? GONE },
    { title: 'VERSION', of: image => String(image.number), right: true },
    { title: 'OF', of: image => image.versionOf ?? image.communityId ?? '' },
    { title: 'SENT', of: ({ reviewSince }) => (reviewSince ? day(reviewSince) : '') },
    {
      title: 'ANSWER BY',
      of: ({ reviewBy }) => (reviewBy ? `${day(reviewBy)}, ${fromNow(reviewBy, now)}` : ''),
    },
  ]
}

const wireOfReported = ({ since, ...one }: ReportedImage) => ({ ...one, since: since.toISOString() })

const REPORT_COLUMNS: Column<ReportedImage>[] = [
  { title: 'ID', of: image => image.id },
  { title: 'NAME', of: image => image.name },
  { title: 'BY', of: image => image.author ?? GONE },
  { title: 'ACCOUNTS', of: image => String(image.reports), right: true },
  { title: 'SINCE', of: image => day(image.since) },
]

const textOfReport = ({ kind, text, at }: ImageReport) => `${day(at)}  ${kind}\n${text}\n`

function pageOf(image: Reviewed): string {
  const { readme, ...named } = wireOf(image)
  const lines = Object.entries(named).map(([name, value]) => {
    const text = Array.isArray(value) ? value.join(', ') : String(value ?? '')
    // A description of several lines is not to look like facts of ours.
    return `${name.padEnd(NAME_CHARS)} ${text.replaceAll('\n', `\n${' '.repeat(NAME_CHARS + 1)}`)}`
  })
  return `${lines.join('\n')}\n\n${readme}\n`
}
