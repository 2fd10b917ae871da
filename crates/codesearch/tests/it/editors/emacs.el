;; Writes the places that grep, compile and xref find, as lists of [file, line, column in characters from 1].
(require 'json)

(defvar lists nil)

(defun here ()
  (vector (file-truename buffer-file-name) (line-number-at-pos) (1+ (- (point) (line-beginning-position)))))

(defun visited (buffer)
  "The places that `next-error' visits after the process of BUFFER has ended."
  (while (get-buffer-process buffer) (accept-process-output nil 0.1))
  (setq next-error-last-buffer buffer)
  (let (places)
    ;; Without a display, Emacs takes the time in its own last line for a place, and asks for the file.
    (condition-case nil
        (while t
          (next-error)
          (with-current-buffer (window-buffer) (push (here) places)))
      (error nil))
    (push (vconcat places) lists)))

(defun items (items)
  (push (vconcat (mapcar (lambda (item)
                           (let ((marker (xref-location-marker (xref-item-location item))))
                             (with-current-buffer (marker-buffer marker)
                               (goto-char marker)
                               (here))))
                         items))
        lists))

(dolist (query (json-parse-string (getenv "QUERIES") :array-type 'list))
  (visited (grep (concat grep-command query))))
(visited (compile "codesearch search --vimgrep --color never --regex -s needle"))

;; From no file: every language.
(with-temp-buffer
  (setq default-directory (getenv "TREE"))
  (items (xref-backend-definitions 'codesearch "needle"))
  (items (xref-backend-references 'codesearch "needle"))
  (items (xref-backend-definitions 'codesearch "no_such_name")))

;; From a use in C: as a person does, by M-.
(find-file (concat (getenv "TREE") "/one/src/main.c"))
(goto-char (point-min))
(search-forward "x = nee")
(unless (equal (xref-backend-identifier-at-point (xref-find-backend)) "needle") (error "No name at point"))
(xref-find-definitions "needle")
(push (vector (here)) lists)

;; From a file outside of the index.
(find-file (getenv "OUTSIDE"))
(items (xref-backend-definitions 'codesearch "needle"))

(with-temp-file (getenv "OUT") (insert (json-serialize (vconcat (nreverse lists)))))
