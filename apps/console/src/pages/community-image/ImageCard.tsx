import type { Image } from '@berth/contract/images'
import type { GpuSpec } from '@berth/contract/regions'
import { IconAlertTriangle } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { searchOf } from '../../app/search.ts'
import { stopperOf } from '../../images/fitting-offers.ts'
import { ImageMark } from '../../images/ImageMark.tsx'
import { useImageWords } from '../../images/use-image-words.ts'
import { useFormat } from '../../ui/format.ts'
import classes from './ImageCard.module.css'

/** More would not fit in a line beside what the image needs. */
const TAGS_SHOWN_MAX = 2

interface ImageCardProps {
  image: Image
  /** Every spec of every region; undefined while they are not known. */
  specs: readonly GpuSpec[] | undefined
  /** What is counted beside the name. */
  count: 'deploys' | 'stars'
}

/** An image of the community: what it is, by whom, how often deployed, what it does, what it needs. */
export function ImageCard({ image, specs, count }: ImageCardProps) {
  const { t } = useTranslation('images')
  const format = useFormat()
  const words = useImageWords()
  const { id, name, author, description, min_vram_gb, size } = image
  return (
    <li className={classes.card}>
      <div className={classes.head}>
        <ImageMark image={image} />
        <div className={classes.who}>
          <Link to="/image-detail" search={searchOf({ id })} className={classes.name}>
            {name}
          </Link>
          <span className={classes.author}>{author ?? t('nobody')}</span>
        </div>
        <p className={classes.count}>
          <strong>{format.number(image[count])}</strong>
          <span>{t(`counts.${count}`, { count: image[count] })}</span>
        </p>
      </div>
      <p className={classes.text}>{description}</p>
      <div className={classes.foot}>
        <FirstFact image={image} specs={specs} />
        <span className={classes.needs}>
          {words.vram(min_vram_gb)} · {words.size(size)}
        </span>
      </div>
    </li>
  )
}

/** What would stop one from deploying it; where nothing does, what it is for. */
function FirstFact({ image, specs }: Pick<ImageCardProps, 'image' | 'specs'>) {
  const { t } = useTranslation('images')
  const words = useImageWords()
  const stopper = stopperOf(image, specs)
  if (stopper) {
    return (
      <span className={classes.stopper}>
        <IconAlertTriangle size={14} stroke={1.6} aria-hidden="true" />
        {t(`stopper.${stopper.code}`, { count: stopper.count })}
      </span>
    )
  }
  return (
    <span className={classes.tags}>
      {image.tags.slice(0, TAGS_SHOWN_MAX).map(tag => (
        <span key={tag} className={classes.tag}>
          {words.tag(tag)}
        </span>
      ))}
    </span>
  )
}
