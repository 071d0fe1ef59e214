import { type CustomImage, getImage } from '@berth/contract/images'
import { editImage, publishImage } from '@berth/contract/own-images'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../api/queries.ts'
import { useChange } from '../api/use-change.ts'
import { session } from '../app/session/session.ts'
import { DialogForm } from '../lists/FormDialog.tsx'
import { Answer } from '../ui/Answer.tsx'
import { toast } from '../ui/toast.ts'
import { useContractForm } from '../ui/use-contract-form.ts'
import classes from './ImageSheet.module.css'
import { dropDraft, readDraft, useKeptDraft } from './image-draft.ts'
import { editForm, saidOf } from './image-values.ts'
import { SaidFields } from './SaidFields.tsx'

interface EditImageFormProps {
  image: CustomImage
  onClose: () => void
}

/** Changes what is said of an image; one that was refused is sent again with it. */
export function EditImageForm({ image, onClose }: EditImageFormProps) {
  const query = useQuery(queryOf(getImage, { params: { id: image.id } }))
  return (
    <Answer query={query} data={query.data} rows={6}>
      {({ readme }) => <Form image={image} readme={readme} onClose={onClose} />}
    </Answer>
  )
}

function Form({ image, readme, onClose }: EditImageFormProps & { readme: string }) {
  const { t } = useTranslation('image-form')
  // The list goes on being read behind the sheet.
  const [{ id, status, name }] = useState(image)
  const [isSending, setSending] = useState(false)
  const edit = useChange(editImage, { silent: true })
  const publish = useChange(publishImage, { silent: true })
  const draft = `${session().getState().user?.id}.edit.${id}`
  const { form, ...state } = useContractForm({
    schema: editForm,
    initialValues: readDraft(draft, { ...saidOf(image, readme), id }),
    onSubmit: async body => {
      await edit.send({ body: { ...body, id } })
      if (status === 'refused') await publish.send({ params: { id } })
      dropDraft(draft)
      toast.good(t(status === 'refused' || status === 'community' ? 'edit.sent' : 'edit.done', { name }))
      onClose()
    },
  })
  useKeptDraft(draft, form.isDirty() ? form.values : null)
  return (
    <DialogForm
      call={editImage}
      state={{ ...state, busy: state.busy || isSending }}
      submitLabel={t(status === 'refused' ? 'edit.submit_again' : 'edit.submit')}
      onCancel={onClose}
    >
      {status === 'refused' && image.reason && (
        <p className={classes.refused}>{t('edit.refused', { why: image.reason.detail })}</p>
      )}
      {status === 'community' && <p className={classes.note}>{t('edit.community')}</p>}
      <SaidFields fieldOf={path => form.getInputProps(path)} isRegionFixed onSending={setSending} />
    </DialogForm>
  )
}
