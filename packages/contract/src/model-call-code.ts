import {
  type CallFile,
  type ClientCall,
  curlCall,
  javascriptCall,
  javascriptFiles,
  pythonCall,
  said,
} from './client-call.ts'
import { lines } from './code-text.ts'
import type { ModelTool } from './model-code.ts'

/** Up to where the paths of the protocol begin, and the model that is asked. */
interface Asked {
  url: string
  model: string
}

/** What pictures are asked by. What is null or empty is not said. */
export interface ImageFacts extends Asked {
  prompt: string
  negativePrompt?: string
  count?: number | null
  size?: string | null
  seed?: number | null
  /** Whether they are made after a picture, which then lies beside the program. */
  hasPicture?: boolean
}

/** What a video is asked by. What is null or empty is not said. */
export interface VideoFacts extends Omit<ImageFacts, 'count'> {
  seconds: number
  /** Whether it ends with a picture, which then lies beside the program, too. */
  hasLastPicture?: boolean
}

/** What vectors are asked by. */
export interface EmbeddingFacts extends Asked {
  text: string
}

/** What a picture of one's own is called beside the program. */
const OWN_PICTURE = 'picture.png'
const OWN_LAST_PICTURE = 'last-picture.png'

/** A call for pictures that keeps each in a file and says its name, as a command of a shell or a program (B11). */
export function imageCode(tool: ModelTool, facts: ImageFacts): string {
  const { url, model, prompt, negativePrompt = '', count = null, size = null, seed = null } = facts
  const hasPicture = facts.hasPicture === true
  const call: ClientCall = {
    url,
    path: hasPicture ? '/images/edits' : '/images/generations',
    method: hasPicture ? 'images.edit' : 'images.generate',
    fields: { model, prompt, ...said({ n: count, size }), response_format: 'b64_json' },
    others: said({ negative_prompt: negativePrompt, seed }),
    files: hasPicture ? [{ field: 'image', name: OWN_PICTURE, isKnown: true }] : [],
  }
  return {
    curl: () => curlCall(call, ['-o images.json']),
    python: () =>
      lines(
        ...['import base64', '', pythonCall(call)],
        'for number, image in enumerate(answer.data, start=1):',
        '    name = f"image-{number}.png"',
        '    with open(name, "wb") as file:',
        '        file.write(base64.b64decode(image.b64_json))',
        '    print(name)',
      ),
    javascript: () =>
      lines(
        ...[javascriptFiles(call), javascriptCall(call)],
        'for (const [index, image] of answer.data.entries()) {',
        "  const name = 'image-' + (index + 1) + '.png'",
        "  writeFileSync(name, Buffer.from(image.b64_json, 'base64'))",
        '  console.log(name)',
        '}',
      ),
  }[tool]()
}

/** Where a program keeps a video, whatever its model makes. */
const VIDEO_FILE = 'video.mp4'

/** A video that is asked for, waited for and kept in a file whose name is said, as lines of a shell or a program (B11). */
export function videoCode(tool: ModelTool, facts: VideoFacts): string {
  const { url, model, prompt, negativePrompt = '', size = null, seed = null, seconds } = facts
  const files: CallFile[] = []
  if (facts.hasPicture) files.push({ field: 'input_reference', name: OWN_PICTURE, isKnown: true })
  if (facts.hasLastPicture) files.push({ field: 'last_image', name: OWN_LAST_PICTURE, isKnown: false })
  const call: ClientCall = {
    ...{ url, path: '/videos', method: 'videos.create', answer: 'video', type: 'Video' },
    fields: { model, prompt, ...said({ size }), seconds: String(seconds) },
    others: said({ negative_prompt: negativePrompt, seed }),
    files,
  }
  return {
    curl: () =>
      lines(
        `video=$(${curlCall(call, ['-sS'])})`,
        // Nothing else of the answer has this beginning: in a text a quote is escaped.
        `id=$(printf '%s' "$video" | sed -n 's/.*"id": *"\\(video_[0-9a-f]*\\)".*/\\1/p')`,
        '[ -n "$id" ] || echo "$video"',
        `while [ -n "$id" ] && curl -sS "${url}/videos/$id" -H "Authorization: Bearer $OPENAI_API_KEY" |`,
        `  grep -qE '"status": *"(queued|in_progress)"'; do sleep 2; done`,
        `[ -z "$id" ] || curl -f "${url}/videos/$id/content" -H "Authorization: Bearer $OPENAI_API_KEY" -o ${VIDEO_FILE}`,
      ),
    python: () =>
      lines(
        ...['import time', '', pythonCall(call)],
        'while video.status in ("queued", "in_progress"):',
        '    time.sleep(2)',
        '    video = client.videos.retrieve(video.id)',
        'if video.status != "completed":',
        '    raise SystemExit(video.error.message)',
        `client.videos.download_content(video.id).write_to_file("${VIDEO_FILE}")`,
        `print("${VIDEO_FILE}")`,
      ),
    javascript: () =>
      lines(
        javascriptFiles(call),
        "import { setTimeout } from 'node:timers/promises'",
        javascriptCall(call, true),
        "while (['queued', 'in_progress'].includes(video.status)) {",
        '  await setTimeout(2000)',
        '  video = await client.videos.retrieve(video.id)',
        '}',
        "if (video.status !== 'completed') throw new Error(video.error.message)",
        'const content = await client.videos.downloadContent(video.id)',
        `writeFileSync('${VIDEO_FILE}', Buffer.from(await content.arrayBuffer()))`,
        `console.log('${VIDEO_FILE}')`,
      ),
  }[tool]()
}

/** A call for the vector of a text that prints it (B11). */
export function embeddingCode(tool: ModelTool, { url, model, text }: EmbeddingFacts): string {
  const call: ClientCall = {
    ...{ url, path: '/embeddings', method: 'embeddings.create' },
    fields: { model, input: text },
  }
  return {
    curl: () => curlCall(call, []),
    python: () => lines(pythonCall(call), 'print(answer.data[0].embedding)'),
    javascript: () => lines(javascriptCall(call), 'console.log(answer.data[0].embedding)'),
  }[tool]()
}
