import type { ModelKind } from '@berth/contract/models'
import { IconMessage, IconMovie, IconPhoto, IconPhotoSearch, IconVectorTriangle } from '@tabler/icons-react'
import classes from './KindMark.module.css'

const ICONS: Record<ModelKind, typeof IconMessage> = {
  chat: IconMessage,
  multimodal: IconPhotoSearch,
  image: IconPhoto,
  video: IconMovie,
  embedding: IconVectorTriangle,
}

/** What kind of model it is, as a picture beside its name. */
export function KindMark({ kind }: { kind: ModelKind }) {
  const Icon = ICONS[kind]
  return (
    <span className={classes.mark} aria-hidden="true">
      <Icon size={17} stroke={1.6} />
    </span>
  )
}
