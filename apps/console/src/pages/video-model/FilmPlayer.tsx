import type { CreationFile } from '@berth/contract/creations'
import { listCreations } from '@berth/contract/creations'
import { type CSSProperties, useRef } from 'react'
import { reread } from '../../api/cache-lifecycle.ts'
import { pixelsOfSize } from '../../making/picture-sizes.ts'
import classes from './FilmCard.module.css'

interface FilmPlayerProps {
  file: CreationFile
  size: string
  label: string
}

/**
 * Plays a video again and again, by the browser's own controls, which keys and screen readers know. It begins by itself,
 * without its sound, but for those who want nothing to move.
 */
export function FilmPlayer({ file, size, label }: FilmPlayerProps) {
  const { width, height } = pixelsOfSize(size)
  const isAskedAnew = useRef(false)
  const isStill = window.matchMedia('(prefers-reduced-motion: reduce)').matches
  return (
    <div className={classes.stage} style={{ '--shape': `${width || 16} / ${height || 9}` } as CSSProperties}>
      <video
        className={classes.film}
        aria-label={label}
        src={file.url}
        controls
        loop
        muted
        playsInline
        autoPlay={!isStill}
        preload="auto"
        onError={() => {
          // Its address is good for some hours; a page that was open for longer asks for another one.
          if (isAskedAnew.current) return
          isAskedAnew.current = true
          void reread([listCreations.operation])
        }}
      />
    </div>
  )
}
