import { COVER_MEDIA_TYPES, coverUrlOf } from '@berth/contract/covers'
import { COVER_BYTES_MAX, COVER_SIDE_PX_MIN } from '@berth/contract/limits'
import { uploadCover } from '@berth/contract/own-images'
import { Button } from '@mantine/core'
import type { GetInputPropsReturnType } from '@mantine/form'
import { IconPhoto } from '@tabler/icons-react'
import { useId, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useOffFor } from '../app/session/use-off-for.ts'
import { bytesText } from '../ui/bytes.ts'
import { LinkButton } from '../ui/LinkButton.tsx'
import { useDrop } from '../ui/use-drop.ts'
import { usePasted } from '../ui/use-pasted.ts'
import classes from './CoverField.module.css'
import sheet from './ImageSheet.module.css'
import { useCoverAddress } from './use-cover-address.ts'
import { useCoverUpload } from './use-cover-upload.ts'

interface CoverFieldProps {
  /** Of the form: the cover's digest, empty for none. */
  field: GetInputPropsReturnType
  /** Told whether a picture is on its way. */
  onSending: (isSending: boolean) => void
}

/**
 * The cover of an image (R5.6): a picture that is chosen, dropped or pasted. It is sent at once, and shown as it will be
 * seen; what is wrong with one is said here, and the one before stays.
 */
export function CoverField({ field, onSending }: CoverFieldProps) {
  const { t } = useTranslation('image-form')
  const id = useId()
  const off = useOffFor(uploadCover)
  const cover = String(field.value)
  const input = useRef<HTMLInputElement>(null)
  const chooser = useRef<HTMLButtonElement>(null)
  const { take, sending, problem, forget } = useCoverUpload(made => field.onChange(made.cover), onSending)
  const drop = useDrop(({ files }) => files[0] && take(files[0]))
  usePasted(take)
  const wrong = problem ?? field.error
  return (
    <fieldset
      className={classes.field}
      aria-describedby={`${id}-note`}
      data-dropping={drop.isOver || undefined}
      {...drop.handlers}
    >
      <legend className={sheet.label}>{t('fields.cover')}</legend>
      <div className={classes.box}>
        <Preview cover={cover} />
        <div className={classes.about}>
          <span role="status" className={sheet.note}>
            {drop.isOver && t('fields.cover_over')}
            {!drop.isOver && sending !== null && t('fields.cover_sending', { name: sending })}
          </span>
          <div className={classes.buttons}>
            <Button
              ref={chooser}
              disabled={off !== null}
              variant="default"
              size="compact-sm"
              data-path="cover"
              aria-describedby={`${id}-note`}
              aria-invalid={Boolean(wrong) || undefined}
              onClick={() => input.current?.click()}
            >
              {t(cover === '' ? 'fields.cover_choose' : 'fields.cover_replace')}
            </Button>
            {cover !== '' && (
              <LinkButton
                onClick={() => {
                  forget()
                  field.onChange('')
                  chooser.current?.focus()
                }}
              >
                {t('fields.cover_remove')}
              </LinkButton>
            )}
          </div>
        </div>
      </div>
      <p id={`${id}-note`} className={wrong ? sheet.error : sheet.note} aria-live="polite">
        {wrong
          ? String(wrong)
          : (off ?? t('fields.cover_note', { size: bytesText(COVER_BYTES_MAX), px: COVER_SIDE_PX_MIN }))}
      </p>
      <input
        ref={input}
        type="file"
        hidden
        accept={COVER_MEDIA_TYPES.join(',')}
        aria-label={t('fields.cover')}
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

/** The cover as it is kept, and how large that is. */
function Preview({ cover }: { cover: string }) {
  const { t } = useTranslation('image-form')
  const address = useCoverAddress(cover === '' ? null : coverUrlOf(cover))
  const [loaded, setLoaded] = useState({ address: '', text: '' })
  if (address === null) {
    return (
      <span className={classes.preview} aria-hidden="true">
        <IconPhoto size={22} stroke={1.4} />
      </span>
    )
  }
  return (
    <figure className={classes.shown}>
      <img
        className={classes.preview}
        src={address}
        alt={t('fields.cover')}
        onError={() => setLoaded({ address, text: t('fields.cover_not_shown') })}
        onLoad={({ currentTarget: { naturalWidth: width, naturalHeight: height } }) =>
          setLoaded({ address, text: t('fields.cover_size', { width, height }) })
        }
      />
      <figcaption className={sheet.note}>{loaded.address === address && loaded.text}</figcaption>
    </figure>
  )
}
