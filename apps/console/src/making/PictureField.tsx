import { COVER_HEAD_BYTES, coverTypeOf } from '@berth/contract/covers'
import { type CreationFile, uploadPicture } from '@berth/contract/creations'
import type { FieldRule } from '@berth/contract/errors'
import type { Model } from '@berth/contract/models'
import { hasFewPixels, pictureHeadBytes, pictureSize } from '@berth/contract/picture-size'
import { ActionIcon } from '@mantine/core'
import { IconPhotoPlus, IconX } from '@tabler/icons-react'
import {
  type ReactNode,
  type RefObject,
  useEffect,
  useId,
  useImperativeHandle,
  useRef,
  useState,
} from 'react'
import { useTranslation } from 'react-i18next'
import { sendChange } from '../api/change.ts'
import { useUpload } from '../api/use-upload.ts'
import { useOffFor } from '../app/session/use-off-for.ts'
import { bytesText } from '../ui/bytes.ts'
import { useDrop } from '../ui/use-drop.ts'
import { FieldLabel } from './FieldLabel.tsx'
import classes from './Fields.module.css'
import type { StartPicture } from './making-draft.ts'

/** What a form can have a field for a picture do. */
export interface PictureTaker {
  take: (file: File) => void
}

interface PictureFieldProps {
  /** Of the field in what is sent, such as `image`. */
  path: string
  name: string
  second?: string
  /** Said on the field while nothing is chosen. */
  hint: string
  /** It stands beside another one. */
  tall?: boolean
  limits: NonNullable<Model['image_input']>
  picture: StartPicture | null
  error: ReactNode
  onChange: (picture: StartPicture | null) => void
  onSending: (isSending: boolean) => void
  /** Nobody is signed in: whoever chooses one is asked to first. */
  onGuest: (() => void) | null
  ref?: RefObject<PictureTaker | null>
}

/**
 * A picture that something is made after (R5.10): chosen, dropped, or pasted by its form. Its content says what it is, not its
 * name; what is wrong with one is said here, and the one before stays.
 */
export function PictureField(props: PictureFieldProps) {
  const { path, name, second, hint, tall = false, limits, picture, error, onChange, onSending } = props
  const { t } = useTranslation('making')
  const id = useId()
  const off = useOffFor(uploadPicture)
  const input = useRef<HTMLInputElement>(null)
  const upload = useUpload<StartPicture>({
    faultOf: file => faultOfPicture(file, limits),
    send: async (file, signal) => {
      const kept: CreationFile = await sendChange(uploadPicture, {}, { bytes: file, signal, silent: true })
      return { ...kept, name: file.name }
    },
    onTaken: onChange,
    onSending,
  })
  const take = (file: File) => {
    if (props.onGuest) props.onGuest()
    else if (off === null) upload.take(file)
  }
  useImperativeHandle(props.ref, () => ({ take }))
  const drop = useDrop(({ files }) => files[0] && take(files[0]))
  const choose = () => {
    if (props.onGuest) props.onGuest()
    else if (off === null) input.current?.click()
  }
  const wrong = upload.problem ?? error
  const note = useRef<HTMLParagraphElement>(null)
  // The field may be the last that is seen of its form.
  useEffect(() => {
    if (wrong) note.current?.scrollIntoView?.({ block: 'nearest' })
  }, [wrong])
  return (
    <fieldset
      className={classes.picture}
      data-dropping={drop.isOver || undefined}
      aria-describedby={`${id}-note`}
      {...drop.handlers}
    >
      <legend className={classes.label}>
        <FieldLabel name={name} second={second} />
      </legend>
      {picture ? (
        <Chosen
          key={picture.id}
          picture={picture}
          label={name}
          onRemove={() => {
            upload.forget()
            onChange(null)
          }}
        />
      ) : (
        <button
          type="button"
          className={classes.chooser}
          data-tall={tall || undefined}
          data-path={path}
          aria-describedby={`${id}-note`}
          aria-disabled={off !== null || undefined}
          title={off ?? undefined}
          onClick={choose}
        >
          <IconPhotoPlus size={18} stroke={1.5} aria-hidden="true" />
          {hint}
        </button>
      )}
      <p ref={note} id={`${id}-note`} className={wrong ? classes.wrong : classes.note} aria-live="polite">
        {wrong || (upload.sending !== null && t('picture.sending', { name: upload.sending }))}
      </p>
      <input
        ref={input}
        type="file"
        hidden
        accept={limits.types.join(',')}
        aria-label={name}
        onChange={({ currentTarget }) => {
          const [file] = currentTarget.files ?? []
          if (file) take(file)
          // The same file may be chosen once more.
          currentTarget.value = ''
        }}
      />
    </fieldset>
  )
}

function Chosen({
  picture,
  label,
  onRemove,
}: {
  picture: StartPicture
  label: string
  onRemove: () => void
}) {
  const { t } = useTranslation('making')
  const [pixels, setPixels] = useState<string | null>(null)
  const [isGone, setGone] = useState(false)
  return (
    <>
      <div className={classes.chosen}>
        <img
          src={picture.url}
          alt={`${label}: ${picture.name}`}
          onError={() => setGone(true)}
          onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) =>
            setPixels(`${naturalWidth} × ${naturalHeight}`)
          }
        />
        <ActionIcon
          variant="default"
          size="sm"
          className={classes.remove ?? ''}
          aria-label={t('picture.remove', { name: picture.name })}
          title={t('picture.remove', { name: picture.name })}
          onClick={onRemove}
        >
          <IconX size={14} stroke={1.6} />
        </ActionIcon>
      </div>
      <p className={classes.note}>
        {isGone ? t('picture.not_shown') : [pixels, bytesText(picture.bytes)].filter(Boolean).join(', ')}
      </p>
    </>
  )
}

/** What is wrong with a picture before it is sent, as far as a browser can tell (R5.10). */
async function faultOfPicture(
  file: File,
  { types, bytes_max }: NonNullable<Model['image_input']>,
): Promise<FieldRule | null> {
  const firstBytes = async (count: number) => new Uint8Array(await file.slice(0, count).arrayBuffer())
  const type = coverTypeOf(await firstBytes(COVER_HEAD_BYTES))
  if (type === null || !types.includes(type)) return 'picture_type'
  if (file.size > bytes_max) return 'picture_too_large'
  return hasFewPixels(pictureSize(type, await firstBytes(pictureHeadBytes(type)))) ? null : 'picture_pixels'
}
