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
import { useState } from 'react'
import classes from './ImageMark.module.css'
import { useCoverAddress } from './use-cover-address.ts'

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

interface ImageMarkProps {
  image: Pick<Image, 'cover_url' | 'tags'>
  /** As high as two lines of a table; left out: as a card has it. */
  size?: 'row'
}

/** The cover of an image, or a sign of what it is for where it has none or none comes; its name stands beside it. */
export function ImageMark({ image, size }: ImageMarkProps) {
  const { cover_url, tags } = image
  const address = useCoverAddress(cover_url)
  const [missing, setMissing] = useState<string | null>(null)
  if (address !== null && address !== missing) {
    return (
      <img
        className={classes.mark}
        data-size={size}
        src={address}
        alt=""
        loading="lazy"
        onError={() => setMissing(address)}
      />
    )
  }
  const Sign = ICONS[tags[0] ?? ''] ?? IconBox
  return (
    <span className={classes.mark} data-size={size} aria-hidden="true">
      <Sign size={20} stroke={1.6} />
    </span>
  )
}
