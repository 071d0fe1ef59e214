import type { Image } from '@berth/contract/images'
import {
  type Icon,
  IconAdjustments,
  IconApi,
  IconBolt,
  IconBook2,
  IconBox,
  IconChartDots,
  IconCube,
  IconMessage,
  IconPhoto,
  IconSitemap,
  IconStack2,
  IconVideo,
  IconWaveSine,
} from '@tabler/icons-react'
import classes from './ImageMark.module.css'

/** What stands for an image without a cover, by the first of its tags. */
const ICONS: Readonly<Record<string, Icon>> = {
  api: IconApi,
  audio: IconWaveSine,
  batch: IconStack2,
  chat: IconMessage,
  data: IconChartDots,
  image: IconPhoto,
  inference: IconBolt,
  notebook: IconBook2,
  render: IconCube,
  training: IconAdjustments,
  video: IconVideo,
  workflow: IconSitemap,
}

/** The cover of an image, or a sign of what it is for; its name stands beside it. */
export function ImageMark({ image }: { image: Pick<Image, 'cover_url' | 'tags'> }) {
  const { cover_url, tags } = image
  if (cover_url !== null) return <img className={classes.mark} src={cover_url} alt="" loading="lazy" />
  const Sign = ICONS[tags[0] ?? ''] ?? IconBox
  return (
    <span className={classes.mark} aria-hidden="true">
      <Sign size={20} stroke={1.6} />
    </span>
  )
}
