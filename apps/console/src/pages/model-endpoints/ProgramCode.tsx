import { embeddingCode, imageCode, videoCode } from '@berth/contract/model-call-code'
import type { ModelTool } from '@berth/contract/model-code'
import type { Model, ModelKind } from '@berth/contract/models'
import { useTranslation } from 'react-i18next'
import { CallCode } from '../../models/CallCode.tsx'
import { Card } from '../../ui/Card.tsx'

type CodeOf = (tool: ModelTool, url: string, text: string, model: Model) => string

/** How programs call what answers otherwise than in words, by kind. */
const CODES: Partial<Record<ModelKind, CodeOf>> = {
  image: (tool, url, prompt, { id, sizes }) =>
    imageCode(tool, { url, model: id, prompt, count: 1, size: sizes[0] ?? null }),
  video: (tool, url, prompt, { id, sizes, video_seconds }) =>
    videoCode(tool, { url, model: id, prompt, size: sizes[0] ?? null, seconds: video_seconds[0] ?? 1 }),
  embedding: (tool, url, text, { id }) => embeddingCode(tool, { url, model: id, text }),
}

/** A program that calls a model, with something to ask it (B11); nothing for a kind that programs do not call. */
export function ProgramCode({ model }: { model: Model }) {
  const { t } = useTranslation('models')
  const codeOf = CODES[model.kind]
  if (!codeOf) return null
  const text = t(`one.example.${model.kind === 'video' || model.kind === 'embedding' ? model.kind : 'image'}`)
  return (
    <Card title={t('one.code_alone')}>
      <CallCode calls={[{ codeOf: (tool, url) => codeOf(tool, url, text, model) }]} />
    </Card>
  )
}
