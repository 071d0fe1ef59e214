import type { Model } from '@berth/contract/models'
import { useRef } from 'react'
import { useTranslation } from 'react-i18next'
import fields from '../../making/Fields.module.css'
import { LeaveOutField } from '../../making/LeaveOutField.tsx'
import { LengthField } from '../../making/LengthField.tsx'
import { ModelAbout } from '../../making/ModelAbout.tsx'
import { ModelField } from '../../making/ModelField.tsx'
import { fittingSize } from '../../making/making-draft.ts'
import { PictureField, type PictureTaker } from '../../making/PictureField.tsx'
import { PromptField } from '../../making/PromptField.tsx'
import { SeedField } from '../../making/SeedField.tsx'
import { SizeField } from '../../making/SizeField.tsx'
import type { MakingForm } from '../../making/use-making-form.ts'
import { useSizeWords } from '../../making/use-size-words.ts'
import { usePasted } from '../../ui/use-pasted.ts'

interface VideoSettingsProps {
  form: Omit<MakingForm, 'submit'>
  models: readonly Model[]
  chosen: Model
  choose: (id: string) => void
  seconds: number
}

/** What is chosen and typed for a video (R2.30). */
export function VideoSettings({ form, models, chosen, choose, seconds }: VideoSettingsProps) {
  const { t } = useTranslation('making')
  const words = useSizeWords()
  const first = useRef<PictureTaker>(null)
  const last = useRef<PictureTaker>(null)
  const { values, errors, change } = form
  /** What is pasted is how it begins, then how it ends. */
  const takePasted = (file: File | undefined) =>
    file && (values.image && last.current ? last : first).current?.take(file)
  usePasted(takePasted)
  const limits = chosen.image_input
  const of = { limits: limits ?? NO_PICTURES, hint: t('picture.choose_short'), tall: true }
  const ofForm = { onSending: form.onSending, onGuest: form.isGuest ? form.askSignIn : null }
  return (
    <>
      <ModelField models={models} chosen={chosen} onChoose={choose}>
        <ModelAbout model={chosen} />
      </ModelField>
      <PromptField
        value={values.prompt}
        error={errors.prompt}
        count={1}
        tokensMax={chosen.context_tokens}
        onChange={prompt => change({ prompt })}
        onFiles={limits ? ([file]) => takePasted(file) : undefined}
      />
      <LeaveOutField
        value={values.negative_prompt}
        error={errors.negative_prompt}
        onChange={negative_prompt => change({ negative_prompt })}
      />
      <div className={fields.pair}>
        <LengthField
          value={seconds}
          choices={chosen.video_seconds}
          onChange={length => change({ seconds: length })}
        />
        <SeedField value={values.seed} error={errors.seed} onChange={seed => change({ seed })} />
      </div>
      <SizeField
        value={fittingSize(values.size, chosen.sizes)}
        choices={words.ofFilms(chosen.sizes)}
        onChange={size => change({ size })}
      />
      {limits && (
        <div className={limits.count_max > 1 ? fields.pair : undefined}>
          <PictureField
            ref={first}
            path="image"
            name={t('fields.first_image')}
            picture={values.image}
            error={errors.image}
            onChange={image => change({ image })}
            {...of}
            {...ofForm}
          />
          {limits.count_max > 1 && (
            <PictureField
              ref={last}
              path="last_image"
              name={t('fields.last_image')}
              picture={values.last_image}
              error={errors.last_image}
              onChange={last_image => change({ last_image })}
              {...of}
              {...ofForm}
            />
          )}
        </div>
      )}
    </>
  )
}

const NO_PICTURES = { count_max: 0, bytes_max: 0, types: [] }
